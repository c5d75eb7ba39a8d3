"""Whether the second-order model of the risks holds where the score was decided."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ilc.consistency._consistency import Consistency
from ilc.consistency._derivatives import Loss

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
    doubts = []
    if not rise <= _ALLOWED * epsilon or not 1 / _ALLOWED <= gap / found.inconsistency <= _ALLOWED:
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
