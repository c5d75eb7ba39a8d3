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

_VALLEYS = {"A": ((0.0, 1.0), 0.8), "B": ((1.0, 0.0), 0.8), "held out": ((0.6, -0.8), 0.5)}


def environment_risk(name: str) -> Callable[[Tensor], Tensor]:
    """Risk of environment ``A``, ``B`` or ``held out`` at ``theta`` ``[..., 2]``."""
    normal, offset = _VALLEYS[name]

    def risk(theta: Tensor) -> Tensor:
        centre = torch.tensor(CONSISTENT, dtype=theta.dtype)
        bowl = 0.5 * (theta - centre).square().sum(-1)
        valley = 0.5 * (theta @ torch.tensor(normal, dtype=theta.dtype) - offset).square()
        # The tiny term only keeps 0 / 0 away; bowl and valley never vanish together.
        return bowl * valley / (bowl + valley + 1e-300)

    return risk


TRAINING = [environment_risk("A"), environment_risk("B")]
"""Risks of the two training environments."""


def starts(n: int, generator: torch.Generator) -> Tensor:
    """Initial parameters ``[n, 2]``, uniform in the square that figure 1 shows."""
    return 2.4 * torch.rand(n, 2, generator=generator, dtype=torch.float64) - 1.2
