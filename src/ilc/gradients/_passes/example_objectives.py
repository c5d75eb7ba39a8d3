"""The loss, the risk and the penalty of each example of a batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import vmap

from ilc._precision import as_autocast_would
from ilc.errors import UserError
from ilc.gradients._environment import checked_risk, scalar_objective
from ilc.objectives import Objective, ObjectiveFunction


def example_objectives(
    loss_fn: ObjectiveFunction, outputs: Tensor, targets: Tensor, one_by_one: bool = False
) -> Objective:
    """Loss, risk and penalty ``[E]`` of outputs ``[E, ...]`` against targets ``[E, 1, ...]``.

    Each example is a batch of one. ``one_by_one`` is for losses that ``vmap`` cannot follow.

    Raises:
        UserError: an environment does not have exactly one example, the outputs are not one tensor with a row
            per example, or the risk is no scalar or depends on no parameter.
    """
    if targets.shape[1] != 1:
        raise UserError(
            "per_example makes every example an environment: inputs and targets must be [E, 1, ...], got "
            f"N = {targets.shape[1]}; reshape [E, N, ...] to [E * N, 1, ...]"
        )
    if not isinstance(outputs, Tensor):
        raise UserError(
            f"per_example needs a model that returns one tensor, got {type(outputs).__name__}: use "
            "gradients='vectorized' or 'sequential'"
        )
    if len(outputs) != len(targets):
        raise UserError(
            f"the model must return one row per example, got {len(outputs)} rows for {len(targets)} "
            "examples: keep the examples on the first axis"
        )
    if one_by_one:
        single = [scalar_objective(loss_fn(o[None], y)) for o, y in zip(outputs, targets, strict=True)]
        stacked = Objective(*(torch.stack(parts) for parts in zip(*single, strict=True)))
        checked_risk(stacked.loss[0])
        return stacked
    outputs = as_autocast_would(outputs)
    each = vmap(lambda output, target: scalar_objective(loss_fn(output, target)), randomness="different")
    objectives: Objective = each(outputs.unsqueeze(1), targets)
    checked_risk(objectives.loss[0])
    return objectives
