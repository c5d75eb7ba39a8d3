"""Passes per example that have other operations than those that were checked."""

from __future__ import annotations

from torch import nn

from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.example_check import check_example_terms, forget_check
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.noted_operations import noted_operations
from ilc.gradients._trials.random_numbers import RandomNumbers
from ilc.gradients._trials.trial_passes import drawing_as
from ilc.objectives import ObjectiveFunction

_CHECKED = "operations of passes per example that were checked"
_MOST = 16
"""A model with so many kinds of passes has branches on its data. Further kinds are not looked at."""


def check_later_operations(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, drawn: RandomNumbers
) -> None:
    """Check the votes again if the pass had operations that no checked pass had.

    A global variable, which no fingerprint sees, may have switched on something that mixes examples. Random
    numbers may have done so too, so the first trial draws what the step drew.

    Args:
        model: the model.
        loss_fn: the objective.
        inputs: of the step.
        targets: of the step.
        drawn: the random numbers with which the step began.

    Raises:
        UserError: as for ``check_example_terms``.
    """
    known = findings(model, loss_fn)
    now, checked = noted_operations(known), known.setdefault(_CHECKED, set())
    if now is None or now in checked or len(checked) >= _MOST:
        return
    if checked:  # What the first pass had was checked just before it.
        forget_check(known)
        with drawing_as(drawn):
            check_example_terms(model, loss_fn, inputs, targets)
    checked.add(now)
