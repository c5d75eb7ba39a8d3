"""The reference for faster ways: one environment after another, by plain autograd."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.gradients._environment import as_objective, trainable_parameters
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._tensor_tree import Values, joined, stacked
from ilc.gradients._trials.tolerance import Tolerance, nudge_shows
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.objectives import ObjectiveFunction

_NUDGES = 3
"""How often ``rounding_decides`` changes the last digits of the parameters."""


class ReferenceRows(NamedTuple):
    """What a plain loop finds for some environments.

    Attributes:
        inputs: ``[E', N, ...]``, of those environments. None of their gradients is NaN or infinite.
        targets: ``[E', N, ...]``.
        risks: ``[E']``.
        gradients: ``[E', ...]`` for each trainable parameter.
    """

    inputs: Values
    targets: Values
    risks: Tensor
    gradients: dict[str, Tensor]


def reference_rows(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> ReferenceRows | None:
    """Gradients of two environments, or of three where the step has exactly two.

    The number always differs from that of the step. So an axis that has the length of all examples in the
    step has another length here. The result is None if too few environments have finite gradients.

    Raises:
        UserError: as for ``check_graph``.
    """
    n = len(inputs)
    found: list[tuple[Values, Values, Tensor, list[Tensor]]] = []
    for e in range(n):
        _add_if_finite(found, model, loss_fn, inputs[e].detach(), targets[e].detach(), passes)
        if len(found) == 2:
            break
    if not found:
        return None
    if len(found) == n:  # One more environment is made of halves of the first and the last.
        half = inputs.shape[1] // 2
        x, y = (joined([pair[0][:half], pair[-1][half:]]).detach() for pair in (inputs, targets))
        _add_if_finite(found, model, loss_fn, x, y, passes)
    if len(found) < 2 or len(found) == n:
        return None
    xs, ys, risks, rows = zip(*found, strict=True)
    names = trainable_parameters(model)
    gradients = {name: torch.stack(one) for name, one in zip(names, zip(*rows, strict=True), strict=True)}
    return ReferenceRows(stacked(xs), stacked(ys), torch.stack(risks), gradients)


def _add_if_finite(
    found: list[tuple[Values, Values, Tensor, list[Tensor]]],
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    x: Values,
    y: Values,
    passes: TrialPasses,
) -> None:
    risk, gradients = reference_row(model, loss_fn, x.clone(), y.clone(), passes)
    if all(bool(gradient.isfinite().all()) for gradient in (risk, *gradients)):
        found.append((x, y, risk, gradients))


def reference_row(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    x: Values,
    y: Values,
    passes: TrialPasses,
    seed: int = 0,
    factor: float = 1.0,
) -> tuple[Tensor, list[Tensor]]:
    """Risk and gradients of one environment, from the same state and random numbers every time.

    The gradients are those of ``factor`` times the risk.
    """
    parameters = list(trainable_parameters(model).values())
    passes.reset(seed)
    with buffers_untouched(model):
        objective = as_objective(value_of(loss_fn, outputs_of(model, x), y))
        check_graph(objective.loss, model)
        gradients = torch.autograd.grad(
            factor * objective.loss, parameters, allow_unused=True, materialize_grads=True
        )
    return objective.risk.detach(), [gradient.detach() for gradient in gradients]


def rounding_decides(
    model: nn.Module, loss_fn: ObjectiveFunction, rows: ReferenceRows, passes: TrialPasses
) -> bool:
    """Whether the plain loop gives other sums or votes when only the last digits of the parameters change.

    This happens where examples are fitted to the last digit, or where weights have grown without bound. A
    difference between two ways then shows nothing.
    """
    tolerance = Tolerance.of([*trainable_parameters(model).values(), rows.inputs])

    def again() -> dict[str, Tensor]:
        found = [
            reference_row(model, loss_fn, x.clone(), y.clone(), passes)[1]
            for x, y in zip(rows.inputs, rows.targets, strict=True)
        ]
        return dict(zip(rows.gradients, map(torch.stack, zip(*found, strict=True)), strict=True))

    return any(nudge_shows(model, again, rows.gradients, tolerance, seed) for seed in range(_NUDGES))
