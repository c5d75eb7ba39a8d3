"""Ways compared with the plain loop of ``reference_loop`` on the same few environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from ilc.gradients._environment import EnvironmentGradients, trainable_parameters
from ilc.gradients._passes.over_environments import LeftOutError
from ilc.gradients._tensor_tree import TensorTree
from ilc.gradients._trials.mixed_environments import environments_mix
from ilc.gradients._trials.reference_loop import ReferenceRows, reference_row, rounding_decides
from ilc.gradients._trials.tolerance import COMPARED_SUMS, Tolerance, first_difference
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.gradients._ways.by_layers import NotByExamplesError
from ilc.gradients._ways.sequential import sequential
from ilc.objectives import ObjectiveFunction

Way = Callable[..., EnvironmentGradients]


class Comparison(NamedTuple):
    """What the comparison showed.

    Attributes:
        way: the first way that is right; None if the difference may be rounding.
        reasons: for each faster way that was tried and is not right, why.
        by_layers: whether a faster way is right; None if the comparison did not get so far.
        said: what to tell the user about the choice.
    """

    way: Way | None
    reasons: list[str]
    by_layers: bool | None = None
    said: str | None = None


def first_right_way(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    rows: ReferenceRows,
    ways: list[Way],
    passes: TrialPasses,
    rounding_may_differ: bool,
) -> Comparison:
    """Find the first of these ways that gives the reference rows; the last one goes by ``torch.func``.

    With ``rounding_may_differ`` a difference is no answer where the plain loop differs from itself as much.
    """

    def difference(way: Way) -> str | None:
        passes.reset()
        with buffers_untouched(model):
            found = way(model, loss_fn, rows.inputs.clone(), rows.targets.clone(), COMPARED_SUMS)
        return _difference(model, found, rows)

    *faster, by_func = ways
    try:
        differs = difference(by_func)
    except Exception as error:
        # The step itself will report the error, such as a branch on the data. Layers would not show it.
        # Models that take nests, as those of transformers do, mostly have such branches, so they go on.
        left_out = isinstance(error, LeftOutError)
        if left_out or isinstance(rows.inputs, TensorTree):
            return Comparison(sequential, [], said=_LEFT_OUT if left_out else _NOT_BY_FUNC)
        return Comparison(by_func, [])
    reasons: list[str] = []
    right = None
    for way in faster:
        try:
            name = difference(way)
        except Exception as error:  # ``torch.func`` may still be able to go on where this way stops.
            mixed_up = isinstance(error, NotByExamplesError)
            reasons.append(_FIRST_AXIS if mixed_up else _other_gradient("a layer"))
            continue
        if name is None and not environments_mix(model, loss_fn, rows.inputs, rows.targets, passes):
            right = way
            break
        if name is not None and rounding_may_differ and rounding_decides(model, loss_fn, rows, passes):
            return Comparison(None, [])
        reasons.append(_MIXED if name is None else _other_gradient(name))
    by_layers = right is not None
    if right is not None or differs is None or _is_random(model, loss_fn, rows, passes):
        return Comparison(right or by_func, reasons, by_layers)
    if rounding_may_differ and rounding_decides(model, loss_fn, rows, passes):
        return Comparison(None, reasons, by_layers)
    return Comparison(sequential, reasons, by_layers, said=f"{_LEFT_OUT} of {differs}")


_LEFT_OUT = "takes one environment after another, because torch.func leaves out a part of the gradient"
_NOT_BY_FUNC = "one environment after another, as torch.func cannot follow the model"
_MIXED = "layers may bring one environment's values into the risk of another one"
_FIRST_AXIS = "a layer's first axis is not the examples"


def _other_gradient(name: str) -> str:
    return f"layer by layer the gradient of {name} would be different (its examples seem to mix)"


def _difference(model: nn.Module, found: EnvironmentGradients, rows: ReferenceRows) -> str | None:
    """The name of the first parameter that differs, or of any parameter if only the risks differ."""
    tolerance = Tolerance.of([*trainable_parameters(model).values(), rows.inputs])
    name = first_difference(found.statistics, rows.gradients, tolerance)
    near = tolerance.of_the_parameter
    if name is None and not torch.allclose(found.risks.double(), rows.risks.double(), rtol=near, atol=near):
        return next(iter(rows.gradients))
    return name


def _is_random(
    model: nn.Module, loss_fn: ObjectiveFunction, rows: ReferenceRows, passes: TrialPasses
) -> bool:
    """Whether a pass draws random numbers, so that there is nothing to compare."""
    x, y = rows.inputs[0].clone(), rows.targets[0].clone()
    risk, _ = reference_row(model, loss_fn, x, y, passes, seed=1)
    return not torch.equal(risk, rows.risks[0])
