"""The optimizer, and the regularizer that shares its section of the config."""

from __future__ import annotations

import math

from torch import nn, optim

from ilc.configuration.section import Section
from ilc.environment_task.method import Method
from ilc.errors import UserError
from ilc.optim import Regularizer

OF_THE_REGULARIZER = ("weight_decay", "l1", "decoupled")


def build_optimizer(
    section: Section, model: nn.Module, method: Method
) -> tuple[optim.Optimizer, Regularizer]:
    """Both, for the trainable parameters of the model.

    Raises:
        UserError: an option that they refuse, or an optimizer that the method cannot do with.
    """
    options = section.options
    for key in ("lr", "weight_decay", "l1"):
        value = options[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise UserError(f"optimizer.{key} must be a finite number, got {value!r}")
    if options["lr"] <= 0:
        raise UserError(f"optimizer.lr must be above 0, got {options['lr']}")
    parameters = [p for p in model.parameters() if p.requires_grad]
    configured: optim.Optimizer = section.without(*OF_THE_REGULARIZER).build(parameters)
    optimizer = method.optimizer(parameters, configured)
    regularizer = Regularizer(
        parameters, float(options["weight_decay"]), float(options["l1"]), bool(options["decoupled"])
    )
    return optimizer, regularizer
