"""The two known failures of training with the IRM penalty. They are recognised without test data."""

from __future__ import annotations

import math

# The accuracy minus the accuracy of always predicting the most frequent class.
NO_BETTER_THAN_ONE_CLASS = 0.05
# Without an accuracy: the risk divided by the risk of zero outputs. At 1 the model has learned nothing.
NOTHING_LEARNED = 0.97
# The slope divided by the risk. Plain training ends at about 0.15, IRM at about 0.001.
STILL_SLOPING = 0.05


def known_failure(
    risk: float,
    penalty: float,
    risk_of_zero_outputs: float,
    accuracy_gain: float | None = None,
) -> str | None:
    """The name of the failure, ``collapsed`` or ``too_weak``; None if there is no failure.

    Args:
        risk: the mean risk over the training environments, without the penalty.
        penalty: the mean penalty over the training environments, without its weight.
        risk_of_zero_outputs: the risk of a model whose outputs are all zero, on the same data.
        accuracy_gain: for classification, the accuracy minus that of always predicting one class.
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
        "the IRM penalty is too weak: at a risk of {risk:.3g} and a penalty of {penalty:.2g}, some "
        "environment would still gain from rescaling the classifier. So the model has the solution of plain "
        "training, or has only begun to leave it. Raise aggregator.penalty_weight, or train longer after "
        "the weight has risen"
    ),
    "collapsed": (
        "the outputs have collapsed to a constant: the penalty is {penalty:.2g}, but with a risk of "
        "{risk:.3g} the model is no better than a model with the same output for every input. Start with "
        "plain training for longer (aggregator.schedule=step with more aggregator.schedule_steps), or lower "
        "aggregator.penalty_weight"
    ),
}
"""The message about each failure, with fields for the risk and the penalty."""
