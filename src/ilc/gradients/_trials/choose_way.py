"""Which way ``vectorized`` goes: a trial on a few environments compares ways with a plain loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache

import torch
from torch import nn

from ilc.errors import UserError
from ilc.gradients._compiled_models import check_as_written
from ilc.gradients._tensor_tree import Values, sizes_of
from ilc.gradients._trials.compare_ways import Way, first_right_way
from ilc.gradients._trials.convolution_work import convolutions_are_faster_in_turn
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.gradient_hooks import HooksInPass, what_acts_on_gradients
from ilc.gradients._trials.linear_backward import NOT_LINEAR, rows_scale
from ilc.gradients._trials.number_of_rows import number_of_rows_matters
from ilc.gradients._trials.reference_loop import reference_rows
from ilc.gradients._trials.trial_parameters import moderate_parameters, zeros_replaced
from ilc.gradients._trials.trial_passes import trial_passes, without_dropout
from ilc.gradients._ways.by_layers import LAYERS_TRIED, may_go_by_layers, operations_noted
from ilc.gradients._ways.sequential import sequential
from ilc.objectives import ObjectiveFunction

_ENOUGH_SIZES = 8
"""If so many sizes of batches all had the same answer, further sizes get it without a trial."""


def choose_way(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, by_func: Way, *faster: Way
) -> Way:
    """Return the first way that gives what a plain loop gives, for two or three of these environments.

    The trial compares each parameter's sums of gradients, of squares, of magnitudes and of signs. It takes
    another number of environments than the step has. So no other axis of that length is taken for the axis of
    the examples.

    Args:
        model: the model as it is now.
        loss_fn: the objective as it is now.
        inputs: ``[E, N, ...]``.
        targets: ``[E, N, ...]``.
        by_func: a way by ``torch.func``. It is taken where nothing can be compared because the model draws
            random numbers.
        faster: ways to try before it.

    Returns:
        One of these ways, or ``sequential``. It is ``sequential`` too until two environments have finite
        gradients.

    Raises:
        UserError: the risk depends on parameters that do not belong to the model, or
            compiled code would run.
    """
    known = findings(model, loss_fn)
    mixed = torch.is_autocast_enabled(inputs.device.type)
    kind = (by_func.__name__, mixed, inputs.dtype, targets.dtype, len(inputs) > 1)
    answers: dict[object, Way] = known.setdefault(kind, {})
    sizes = sizes_of(inputs), sizes_of(targets)
    found = answers.get(sizes)
    if found is None and len(answers) >= _ENOUGH_SIZES and len(set(answers.values())) == 1:
        found = next(iter(answers.values()))
    if found is None:
        found = _chosen(model, loss_fn, inputs, targets, mixed, by_func, faster)
    if found in faster and number_of_rows_matters(model, loss_fn, inputs):
        _say_once("uses torch.func, because the outputs depend on the number of environments in a pass")
        found = _tried(model, loss_fn, inputs, targets, [by_func])
    if found is not None:
        answers[sizes] = found
    return found or sequential


def _chosen(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    mixed: bool,
    by_func: Way,
    faster: Sequence[Way],
) -> Way | None:
    """The right way for batches of these sizes; None if the trial shows nothing yet."""
    reason = what_acts_on_gradients(model)
    if reason is not None:
        _say_once(f"takes one environment after another, because {reason}")
        return sequential
    check_as_written(model)
    if convolutions_are_faster_in_turn(model, loss_fn, inputs):
        _say_once(
            "takes one environment after another, because this is faster for convolutions of this size on a "
            "CPU"
        )
        return sequential
    ways = [way for way in faster if may_go_by_layers(model, inputs)]
    if ways and mixed:
        _say_once("uses torch.func, because autocast is on")
        ways = []
    return _tried(model, loss_fn, inputs, targets, [*ways, by_func])


def _tried(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, ways: list[Way]
) -> Way | None:
    """The first way that is right; None if the trial shows nothing yet."""
    with (
        without_dropout(model),
        zeros_replaced(model),
        trial_passes(model, loss_fn, inputs) as passes,
        torch.autocast(inputs.device.type, enabled=False),
    ):
        # If the present parameters give no gradients, or gradients made by rounding, smaller ones are tried.
        for at_hand, parameters in ((True, nullcontext), (False, moderate_parameters)):
            with parameters(model):
                hooks = HooksInPass()
                try:
                    with hooks:
                        rows = reference_rows(model, loss_fn, inputs, targets, passes)
                except UserError:
                    raise
                except Exception:  # The step itself will report what is wrong.
                    return ways[-1]
                if hooks.found:
                    _say_once(f"takes one environment after another, because {hooks.found}")
                    return sequential
                if rows is None or not any(bool(row.any()) for row in rows.gradients.values()):
                    continue
                if not rows_scale(model, loss_fn, rows, passes):
                    _say_once(f"takes one environment after another, because {NOT_LINEAR}")
                    return sequential
                with operations_noted():
                    comparison = first_right_way(
                        model, loss_fn, rows, ways, passes, rounding_may_differ=at_hand
                    )
                _note_layers(model, loss_fn, comparison.reasons, comparison.by_layers)
                if comparison.said is not None:
                    _say_once(comparison.said)
                if comparison.way is not None:
                    return comparison.way
    return None


def _note_layers(
    model: nn.Module, loss_fn: ObjectiveFunction, reasons: list[str], by_layers: bool | None
) -> None:
    """Remember and print whether going layer by layer was right."""
    if by_layers is None:
        return
    tried: dict[object, bool] = findings(model, loss_fn).setdefault(LAYERS_TRIED, {})
    for reason in reasons:
        tried[len(tried)] = False
        _say_once(f"uses torch.func, because {reason}")
    if by_layers:
        tried[len(tried)] = True
        _say_once("goes layer by layer")


@cache
def _say_once(how: str) -> None:
    print(f"ilc: gradients='vectorized' {how}")
