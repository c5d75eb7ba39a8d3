"""Losses times the factor of a ``GradScaler``, while risks are reported without it."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients._environment import as_objective
from ilc.gradients._ways.of_losses import Loss, OneLoss
from ilc.objectives import Objective


def scaled(loss_fn: Loss, scaler: torch.amp.GradScaler | None, aggregator: Aggregator) -> Loss:
    """Return the same loss or losses, multiplied by the scaler's factor where they are differentiated.

    Args:
        loss_fn: as for ``ilc.backward``.
        scaler: None leaves the loss as it is.
        aggregator: what the gradients are for.

    Raises:
        UserError: the factor would change more than the size of the update.
    """
    if scaler is None:
        return loss_fn
    if not aggregator.follows_scale:
        raise UserError(
            f"{type(aggregator).__name__} gives another update if all losses are multiplied by a number, and "
            "float16 needs that: train in bfloat16 or float32, which need no GradScaler"
        )
    if callable(loss_fn):
        # A partial, and no function made here: what was found out about the user's loss stays valid.
        return partial(_times, loss_fn, scaler)
    return [_one(loss, scaler) for loss in loss_fn]


def _one(loss: OneLoss, scaler: torch.amp.GradScaler) -> OneLoss:
    return partial(_times, loss, scaler) if callable(loss) else _objective(loss, scaler)


def _times(loss_fn: Any, scaler: torch.amp.GradScaler, *arguments: Any) -> Objective:
    return _objective(loss_fn(*arguments), scaler)


def _objective(value: Any, scaler: torch.amp.GradScaler) -> Objective:
    found = as_objective(value)
    return Objective(scaler.scale(found.loss), found.risk, found.penalty)
