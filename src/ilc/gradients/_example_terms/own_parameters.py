"""Whether a layer has its own parameters, or others that ``torch.func.functional_call`` lends it.

Lent tensors may be made of any parameters, so the votes that a rule finds for them belong to those.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn


def own_parameters(layer: nn.Module) -> dict[str, Tensor | None]:
    """The parameters of a layer alone, without those of the layers in it, before anything is lent."""
    return dict(layer._parameters)


def has_its_own(layer: nn.Module, own: Mapping[str, Tensor | None]) -> bool:
    """Whether the layer has the parameters that it had when ``own_parameters`` returned ``own``."""
    return all(layer._parameters.get(key) is p for key, p in own.items())
