"""How much curvature the Lanczos runs missed where the score was decided.

A run finds the largest curvatures first, but of a repeated one it finds as many directions as it takes steps.
Another run finds other directions of them. A step along these looks flat to the first environment, so that
its risk seems to allow a far too long step. One product with each true Hessian at the deciding step shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ilc.consistency._consistency import Consistency
from ilc.consistency._derivatives import LocalRisk, Loss
from ilc.consistency._large import LowRankExpansion

ALLOWED_SHARE = 0.1
"""More than this share of missed curvature is worth a warning. The damping is of that order, too."""

REFUSED_SHARE = 1.0
"""Beyond this share the step costs its environment more than twice epsilon, or the gap is off by itself."""


def missed_curvature(
    found: Consistency,
    expansions: Sequence[LowRankExpansion],
    losses: Sequence[Loss],
    theta_star: Tensor,
    epsilon: float,
) -> float:
    """Return the larger share for the two environments that decide; see ``Consistency.missed_curvature``."""
    units = zip(found.pair, (epsilon, found.inconsistency), strict=True)
    return max(_missed(found.step, expansions[e], LocalRisk(losses[e], theta_star)) / of for e, of in units)


def _missed(step: Tensor, expansion: LowRankExpansion, local: LocalRisk) -> float:
    """What the true ``1/2 s . H s`` has more or less than the expansion."""
    along = (expansion.directions @ step).double()
    model = 0.5 * float(expansion.curvatures @ along.square())
    more = 0.5 * float(step.double() @ local.hessian_times(step).double()) - model
    # Negative curvature counts as zero on purpose, so it may take this much away from the true value. It may
    # also hide that much of what was missed.
    negative = 0.5 * max(-expansion.lowest, 0.0) * float(step.double().square().sum())
    return max(more, -more - negative, 0.0)
