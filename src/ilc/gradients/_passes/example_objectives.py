"""The loss, the risk and the penalty of each example of a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from ilc._precision import as_autocast_would
from ilc.errors import UserError
from ilc.gradients._environment import checked_risk, scalar_objective
from ilc.gradients._passes.calls import rows_of_outputs, value_of
from ilc.gradients._tensor_tree import TensorTree, Values, changed
from ilc.objectives import Objective, ObjectiveFunction


def example_objectives(
    loss_fn: ObjectiveFunction, outputs: Any, targets: Values, one_by_one: bool = False
) -> Objective:
    """Loss, risk and penalty ``[E]`` of outputs ``[E, ...]`` against targets ``[E, 1, ...]``.

    Each example is a batch of one. ``one_by_one`` is for losses that ``vmap`` cannot follow.

    Raises:
        UserError: an environment does not have exactly one example, the outputs have no row per
            example, or the risk is no scalar or depends on no parameter.
    """
    if targets.shape[1] != 1:
        raise UserError(
            "a vote per example makes every example an environment: inputs and targets must be [E, 1, ...], "
            f"got N = {targets.shape[1]}; reshape [E, N, ...] to [E * N, 1, ...]"
        )
    rows = rows_of_outputs(outputs, len(targets))
    if rows is None and isinstance(outputs, Tensor):
        n = len(outputs) if outputs.ndim else 0
        raise UserError(
            f"the model must return one row per example, got {n} rows for {len(targets)} examples: let "
            "forward keep the first axis of its inputs"
        )
    if rows is None:
        raise UserError(
            "per_example needs a model that returns a tensor with a row per example, or a dictionary, a "
            f"tuple or an output of transformers that holds one, got {type(outputs).__name__}: use "
            "vectorized or sequential"
        )
    if one_by_one:
        single = [objective_of_example(loss_fn, rows[i : i + 1], y) for i, y in enumerate(targets)]
        stacked = Objective(*(torch.stack(parts) for parts in zip(*single, strict=True)))
        checked_risk(stacked.loss[0])
        return stacked
    rows = changed(rows, as_autocast_would)
    each = vmap(lambda row, y: objective_of_example(loss_fn, row, y), randomness="different")
    objectives: Objective = each(rows.unsqueeze(1), targets)
    checked_risk(objectives.loss[0])
    return objectives


def objective_of_example(loss_fn: ObjectiveFunction, row: Values, target: Values) -> Objective:
    """The objective of one example from its row of the outputs.

    Raises:
        UserError: it is no real scalar, it is a loss that the model made of all examples, or it needs such a
            loss beside the row.
    """
    try:
        value = value_of(loss_fn, row, target)
    except (AttributeError, TypeError) as error:
        if not isinstance(row, TensorTree) or "NoneType" not in str(error):
            raise
        raise UserError(
            f"loss_fn meets an output that is None ({error}): what the model returns without a row for each "
            "example, such as an auxiliary loss, belongs to all examples and is None here. Compute it in "
            "loss_fn, or use gradients='sequential', in which each example passes by itself"
        ) from error
    if value is None and isinstance(row, TensorTree):
        raise UserError(
            "the votes per example take one pass for all examples, so a loss that the model itself returns "
            "belongs to all of them: compute the risk of one example in loss_fn, from outputs.logits and the "
            "targets"
        )
    return scalar_objective(value)
