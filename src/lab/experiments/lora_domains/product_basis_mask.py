"""The AND-mask on directions of LoRA's product, which do not depend on its factors."""

from __future__ import annotations

from typing import Any

from torch import nn

from ilc.aggregators import AndMask
from ilc.gradients import BackwardResult
from ilc.lora import product_basis
from lab.environment_task import TrainingMethod


class ProductBasisMask(TrainingMethod):
    """The AND-mask inside ``ilc.lora.product_basis``."""

    def __init__(self, agreement_threshold: float, rescale: bool = False) -> None:
        super().__init__(AndMask(agreement_threshold, rescale))

    def backward(self, processes: Any, model: nn.Module, *arguments: Any) -> BackwardResult:
        """Fill ``.grad`` as the AND-mask does, but let the environments vote on the product."""
        with product_basis(model):
            return super().backward(processes, model, *arguments)
