"""Whether the second-order model of the risks holds where the score was decided."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ilc.consistency._consistency import Consistency
from ilc.consistency._derivatives import Loss
from ilc.consistency._missed_curvature import ALLOWED_SHARE

# The true numbers may differ from the model's by this factor.
_ALLOWED = 2.0


def truth_at_step(
    losses: Sequence[Loss], theta_star: Tensor, found: Consistency
) -> tuple[list[float], float, float]:
    """The risks at the solution, and the true rise and the true gap at the deciding step."""
    e, other = found.pair
    with torch.no_grad():
        risks = [float(loss(theta_star)) for loss in losses]
        moved = theta_star + found.step
        return risks, float(losses[e](moved)) - risks[e], abs(float(losses[other](moved)) - risks[e])


def reasons_for_doubt(
    found: Consistency, epsilon: float, damping: float, rise: float, gap: float
) -> list[str]:
    """What speaks against a second-order score, each with a remedy."""
    doubts = missed_too_much(found)
    holds = rise <= _ALLOWED * epsilon and 1 / _ALLOWED <= gap / found.inconsistency <= _ALLOWED
    # A step that is too long for want of curvature says nothing about the quadratic model.
    if not holds and not doubts:
        doubts.append(
            "the quadratic model does not hold at the deciding step: the risk of environment "
            f"{found.pair[0]} rises by {rise:.3g} where epsilon is {epsilon:.3g}, and the gap is {gap:.3g} "
            f"instead of {found.inconsistency:.3g}. Take another epsilon or a larger damping, or "
            "method='search' for a model of few parameters"
        )
    if found.negative_curvature > max(damping, torch.finfo(found.step.dtype).eps ** 0.5):
        doubts.append(
            f"the solution is no minimum: the most negative curvature is {found.negative_curvature:.2g} "
            "times the largest positive one, and it counts as zero. Train further, or give a damping above "
            "that"
        )
    return doubts


def missed_too_much(found: Consistency) -> list[str]:
    """Whether the Lanczos steps were too few for the score; empty or one sentence."""
    if found.missed_curvature <= ALLOWED_SHARE:
        return []
    return [
        f"too few Lanczos steps: at the deciding step of environments {found.pair[0]} and {found.pair[1]} "
        f"they miss curvature that changes a risk by {found.missed_curvature:.2g} times epsilon or the gap, "
        f"where {ALLOWED_SHARE} is allowed. Give hessian_vector more lanczos_steps ({len(found.step)} find "
        "all curvature) or a larger damping, or take method='quadratic'"
    ]
