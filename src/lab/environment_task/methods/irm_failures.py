"""The two known ways in which training with the IRM penalty fails, recognised without test data."""

from __future__ import annotations

import math

# Accuracy beyond that of always naming the most frequent class.
NO_BETTER_THAN_ONE_CLASS = 0.05
# Risk relative to that of zero outputs, where there is no accuracy: 1 says nothing.
NOTHING_LEARNED = 0.97
# The slope relative to the risk: plain training ends at about 0.15 there, IRM at about 0.001.
STILL_SLOPING = 0.05


def known_failure(
    risk: float,
    penalty: float,
    risk_of_zero_outputs: float,
    accuracy_gain: float | None = None,
) -> str | None:
    """``collapsed``, ``too_weak`` or None.

    Args:
        risk: mean over the training environments, without the penalty.
        penalty: mean over the training environments, unscaled.
        risk_of_zero_outputs: the risk of a model whose outputs are all zero, on the same data.
        accuracy_gain: for classification, accuracy beyond that of naming one class always.
    """
    relative_slope = math.sqrt(max(0.0, penalty)) / risk if risk > 0 else 0.0
    if relative_slope > STILL_SLOPING:
        return "too_weak"
    if accuracy_gain is None:
        collapsed = risk >= NOTHING_LEARNED * risk_of_zero_outputs
    else:
        collapsed = accuracy_gain < NO_BETTER_THAN_ONE_CLASS
    return "collapsed" if collapsed else None


WARNINGS = {
    "too_weak": (
        "the IRM penalty is too weak: with a risk of {risk:.3g} and a penalty of {penalty:.2g} some "
        "environment would still gain from rescaling the classifier, so this is plain training's solution "
        "or on the way from it. Raise aggregator.penalty_weight, or train for longer after it has risen"
    ),
    "collapsed": (
        "the outputs have collapsed to a constant: the penalty is {penalty:.2g}, but with a risk of "
        "{risk:.3g} the model is no better than one that says the same everywhere. Begin as plain training "
        "(aggregator.schedule=step, later), or lower aggregator.penalty_weight"
    ),
}
"""What to say of each failure, with places for the risk and the penalty."""
