"""What a model and the options of ``score_solution`` must be."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ilc.consistency._jackknife import FEWEST_GROUPS
from ilc.errors import UserError
from ilc.gradients._environment import device_of
from ilc.gradients._trials.trial_passes import modules_of
from ilc.objectives import ObjectiveFunction


def check_call(
    model: nn.Module, method: str, methods: Collection[str], groups: int | None, confidence: float
) -> None:
    """Raise UserError for a wrong option, or a model whose risk is no function of its parameters alone."""
    if method not in ("auto", *methods):
        raise UserError(f"method must be auto or one of {', '.join(methods)}, got {method!r}")
    if groups and groups < FEWEST_GROUPS:
        raise UserError(f"groups must be 0 for no interval, or at least {FEWEST_GROUPS}, got {groups}")
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie between 0 and 1, got {confidence!r}")
    if device_of(model).type != "cpu":
        raise UserError(
            f"the score is computed on the CPU, but the model is on {device_of(model)}: call model.cpu(), "
            "and give inputs and targets on the CPU, too"
        )
    for name, layer in model.named_modules():
        if layer.training and isinstance(layer, (_DropoutNd, _BatchNorm)):
            raise UserError(
                f"{name or 'the model'} ({type(layer).__name__}) is in training mode, in which it draws "
                "random numbers or changes its statistics: call model.eval() before the score"
            )


def in_training_mode(model: nn.Module, loss_fn: ObjectiveFunction) -> bool:
    """Whether any part of the model or the loss is, so that random numbers may matter."""
    return any(layer.training for part in (model, *modules_of(loss_fn, model)) for layer in part.modules())
