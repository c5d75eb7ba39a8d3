"""Figure 1's two-parameter landscape: one minimum that both environments show, one that pooling makes.

Each environment's risk is the harmonic combination ``b v / (b + v)`` of a round bowl b around
(-0.5, -0.5), the same for all, and of a straight valley v of its own. It is zero in the bowl's
centre and all along the valley, and looks like b near the one and v near the other. The valleys of
A and B cross at (0.8, 0.8): zero risk for both, yet following either environment alone ends there
with probability zero. Deviation: the paper gives both minima but no formula; this one is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

CONSISTENT = (-0.5, -0.5)
PATCHWORK = (0.8, 0.8)

_TINY = 1e-100  # only keeps 0 / 0 away: bowl and valley never vanish together
_VALLEYS = {"A": ((0.0, 1.0), 0.8), "B": ((1.0, 0.0), 0.8), "held out": ((0.6, -0.8), 0.5)}


def environment_risk(name: str) -> Callable[[Tensor], Tensor]:
    """Risk of environment ``A``, ``B`` or ``held out`` at ``theta`` ``[..., 2]``."""

    def risk(theta: Tensor) -> Tensor:
        bowl, valley = (part for part, _ in _parts(name, theta))
        return bowl * valley / (bowl + valley + _TINY)

    return risk


def environment_gradient(name: str, theta: Tensor) -> Tensor:
    """Gradient ``[..., 2]`` of that risk in closed form, for drawing without differentiation."""
    (bowl, bowl_slope), (valley, valley_slope) = _parts(name, theta)
    weighted = valley.square()[..., None] * bowl_slope + bowl.square()[..., None] * valley_slope
    return weighted / (bowl + valley + _TINY).square()[..., None]


def _parts(name: str, theta: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Bowl and valley, each with its gradient."""
    normal = torch.tensor(_VALLEYS[name][0], dtype=theta.dtype)
    from_centre = theta - torch.tensor(CONSISTENT, dtype=theta.dtype)
    from_valley = theta @ normal - _VALLEYS[name][1]
    bowl = (0.5 * from_centre.square().sum(-1), from_centre)
    return bowl, (0.5 * from_valley.square(), from_valley[..., None] * normal)


TRAINING = [environment_risk("A"), environment_risk("B")]
"""Risks of the two training environments."""


def starts(n: int, generator: torch.Generator) -> Tensor:
    """Initial parameters ``[n, 2]``, uniform in the square that figure 1 shows."""
    return 2.4 * torch.rand(n, 2, generator=generator, dtype=torch.float64) - 1.2
