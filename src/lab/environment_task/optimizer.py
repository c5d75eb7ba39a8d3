"""The optimizer, and the regularizer that shares its section of the config."""

from __future__ import annotations

from torch import nn, optim

from ilc.errors import UserError
from ilc.optim import Regularizer
from lab.configuration.section import Section
from lab.environment_task.method import Method


def build_optimizer(
    section: Section, model: nn.Module, method: Method
) -> tuple[optim.Optimizer, Regularizer]:
    """Both, for the trainable parameters of the model.

    Raises:
        UserError: an option that they refuse, or an optimizer that the method cannot do with.
    """
    if section.options.get("lr", 1) <= 0:
        raise UserError(f"optimizer.lr must be above 0, got {section.options['lr']}")
    parameters = [p for p in model.parameters() if p.requires_grad]
    regularizer = section.part(Regularizer, parameters)
    # Of its own it has none, also where none is not its default, as in AdamW.
    alone = section.without(Regularizer).offered(weight_decay=0.0)
    configured: optim.Optimizer = alone.build(parameters, kinds=(optim.Optimizer,))
    return method.optimizer(parameters, configured), regularizer
