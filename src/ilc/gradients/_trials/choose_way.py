"""Which way ``vectorized`` goes: tried out against a plain loop, for as long as its ground stays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

from ilc.errors import UserError
from ilc.gradients._environment import EnvironmentGradients, trainable_parameters
from ilc.gradients._trials.findings import verdicts
from ilc.gradients._trials.reference_loop import (
    ALSO,
    Rows,
    Tolerance,
    first_difference,
    rounding_decides,
    row_of,
    rows_of_a_few,
)
from ilc.gradients._trials.trial_parameters import moderate_parameters, zeros_replaced
from ilc.gradients._trials.trial_passes import Trial, buffers_untouched, trial, without_dropout
from ilc.gradients._ways.by_layers import LAYERS_TRIED, NotByExamplesError, may_go_by_layers
from ilc.gradients._ways.sequential import sequential
from ilc.objectives import ObjectiveFunction

Way = Callable[..., EnvironmentGradients]

_ENOUGH = 8
"""Sizes of batches that all had one answer: further sizes have it too."""


def chosen(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, by_func: Way, *faster: Way
) -> Way:
    """The first way that gives what a plain loop does for two or three of these environments.

    Each parameter's sum of gradients, of squares, of magnitudes and of signs are compared, on another number
    of environments than the step has: so no axis that is not the examples' passes for it.

    Args:
        model: as it is now.
        loss_fn: likewise.
        inputs: ``[E, N, ...]``.
        targets: ``[E, N, ...]``.
        by_func: a way by ``torch.func``, which is taken where nothing can be compared, as the model draws
            random numbers.
        faster: ways to try before it.

    Returns:
        One of these ways, or ``sequential``, also until two environments have finite gradients.

    Raises:
        UserError: the risk depends on parameters that are none of the model's.
    """
    known = verdicts(model, loss_fn)
    mixed = torch.is_autocast_enabled(inputs.device.type)
    kind = (by_func.__name__, mixed, inputs.dtype, targets.dtype, len(inputs) > 1)
    answers: dict[object, Way] = known.setdefault(kind, {})
    sizes = inputs.shape[1:], targets.shape[1:]
    if sizes in answers:
        return answers[sizes]
    if len(answers) >= _ENOUGH and len(set(answers.values())) == 1:
        return next(iter(answers.values()))
    reason = acts_on_gradients(model)
    if reason is not None:
        _say_once(f"one environment after another, as {reason}")
        answers[sizes] = sequential
        return sequential
    ways = [way for way in faster if may_go_by_layers(model, inputs)]
    if ways and mixed:
        _say_once("by torch.func, as autocast is on")
        ways = []
    found = by_func if _is_compiled(model) else _tried(model, loss_fn, inputs, targets, [*ways, by_func])
    if found is not None:
        answers[sizes] = found
    return found or sequential


def _tried(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, ways: list[Way]
) -> Way | None:
    """The first that is right, or the last where another speaks for it; None if nothing can be said yet."""
    with (
        without_dropout(model),
        zeros_replaced(model),
        trial(model, loss_fn, inputs) as passes,
        torch.autocast(inputs.device.type, enabled=False),
    ):
        # Where the parameters at hand give no gradients, or rounding makes them, smaller ones are tried.
        for at_hand, parameters in ((True, nullcontext), (False, moderate_parameters)):
            with parameters(model):
                try:
                    rows = rows_of_a_few(model, loss_fn, inputs, targets, passes)
                except UserError:
                    raise
                except Exception:  # The step itself will say what is wrong.
                    return ways[-1]
                if rows is not None and any(bool(row.any()) for row in rows.gradients.values()):
                    found = _first_right(model, loss_fn, rows, ways, passes, at_hand)
                    if found is not None:
                        return found
    return None


def _first_right(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    rows: Rows,
    ways: list[Way],
    passes: Trial,
    doubt: bool,
) -> Way | None:
    """The first that is right; None if a difference may be rounding alone and ``doubt`` asks about it."""

    def difference(way: Way) -> str | None:
        passes.start()
        with buffers_untouched(model):
            found = way(model, loss_fn, rows.inputs.clone(), rows.targets.clone(), ALSO)
        return _difference(model, found, rows)

    *faster, by_func = ways
    try:
        differs = difference(by_func)
    except Exception:
        # The step itself will say what is wrong: a branch on the data, for one, which layers would not show.
        return by_func
    reasons: list[str] = []
    right = None
    for way in faster:
        try:
            name = difference(way)
        except Exception as error:  # Whatever stops it, ``torch.func`` may do.
            reasons.append(_NOT_BY_EXAMPLES if isinstance(error, NotByExamplesError) else _why("a layer"))
            continue
        if name is None:
            right = way
            break
        if doubt and rounding_decides(model, loss_fn, rows, passes):
            return None
        reasons.append(_why(name))
    _remember(model, loss_fn, reasons, right is not None)
    if right is not None or differs is None or _is_random(model, loss_fn, rows, passes):
        return right or by_func
    if doubt and rounding_decides(model, loss_fn, rows, passes):
        return None
    _say_once(f"one environment after another, as torch.func leaves out what makes the gradient of {differs}")
    return sequential


def _remember(
    model: nn.Module, loss_fn: ObjectiveFunction, reasons: list[str], by_layers_is_right: bool
) -> None:
    tried: dict[object, bool] = verdicts(model, loss_fn).setdefault(LAYERS_TRIED, {})
    for reason in reasons:
        tried[len(tried)] = False
        _say_once(f"by torch.func, as {reason}")
    if by_layers_is_right:
        tried[len(tried)] = True
        _say_once("layer by layer")


def _is_random(model: nn.Module, loss_fn: ObjectiveFunction, rows: Rows, passes: Trial) -> bool:
    """Whether a pass draws random numbers, so that there is nothing to compare."""
    x, y = rows.inputs[0].clone(), rows.targets[0].clone()
    risk, _ = row_of(model, loss_fn, x, y, passes, seed=1)
    return not torch.equal(risk, rows.risks[0])


_NOT_BY_EXAMPLES = "a layer's first axis is not the examples"


def _difference(model: nn.Module, found: EnvironmentGradients, rows: Rows) -> str | None:
    tolerance = Tolerance.of([*trainable_parameters(model).values(), rows.inputs])
    name = first_difference(found.statistics, rows.gradients, tolerance)
    near = tolerance.of_the_parameter
    if name is None and not torch.allclose(found.risks.double(), rows.risks.double(), rtol=near, atol=near):
        return next(iter(rows.gradients))
    return name


def _why(name: str) -> str:
    return f"layers alone do not give the gradient of {name} (its examples seem to mix)"


def acts_on_gradients(model: nn.Module) -> str | None:
    """What in a backward pass ``torch.func`` would leave out, or do to all environments at once."""
    modules: list[Any] = list(model.modules())
    every = torch_modules._global_backward_hooks or torch_modules._global_backward_pre_hooks
    if every or any(module._backward_hooks or module._backward_pre_hooks for module in modules):
        return "hooks act on gradients"
    if any(p._backward_hooks for p in model.parameters()):
        return "hooks act on gradients"
    if any(getattr(module, "scale_grad_by_freq", False) is True for module in modules):
        return "scale_grad_by_freq counts in each batch"
    return None


def _is_compiled(model: nn.Module) -> bool:
    return any(hasattr(part, "_orig_mod") or part._compiled_call_impl is not None for part in model.modules())


@cache
def _say_once(how: str) -> None:
    print(f"ilc: gradients='vectorized' goes {how}")
