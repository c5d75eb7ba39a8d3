"""Figure 1's two-parameter landscape: one minimum that both environments show, and one made by pooling.

Each environment's risk is the harmonic combination ``b v / (b + v)`` of a round bowl b around (-0.5, -0.5)
and a straight valley v. The bowl is the same for all environments; each environment has its own valley. The
risk is zero in the centre of the bowl and everywhere along the valley. It looks like b near the centre and
like v near the valley. The valleys of A and B cross at (0.8, 0.8), where both have zero risk. But descent on
only one of the environments ends there with probability zero. Deviation: the paper gives both minima but no
formula. This formula is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

CONSISTENT = (-0.5, -0.5)
PATCHWORK = (0.8, 0.8)

_TINY = 1e-100  # It only prevents 0 / 0. Bowl and valley never vanish together.
_VALLEYS = {"A": ((0.0, 1.0), 0.8), "B": ((1.0, 0.0), 0.8), "held out": ((0.6, -0.8), 0.5)}


def environment_risk(name: str) -> Callable[[Tensor], Tensor]:
    """Return the risk of environment ``A``, ``B`` or ``held out`` as a function of ``theta`` ``[..., 2]``."""

    def risk(theta: Tensor) -> Tensor:
        bowl, valley = (part for part, _ in _parts(name, theta))
        return bowl * valley / (bowl + valley + _TINY)

    return risk


def environment_gradient(name: str, theta: Tensor) -> Tensor:
    """Return the gradient ``[..., 2]`` of the risk in closed form, for figures without differentiation."""
    (bowl, bowl_slope), (valley, valley_slope) = _parts(name, theta)
    weighted = valley.square()[..., None] * bowl_slope + bowl.square()[..., None] * valley_slope
    return weighted / (bowl + valley + _TINY).square()[..., None]


def _parts(name: str, theta: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return the bowl and the valley, each with its gradient."""
    normal = torch.tensor(_VALLEYS[name][0], dtype=theta.dtype)
    from_centre = theta - torch.tensor(CONSISTENT, dtype=theta.dtype)
    from_valley = theta @ normal - _VALLEYS[name][1]
    bowl = (0.5 * from_centre.square().sum(-1), from_centre)
    return bowl, (0.5 * from_valley.square(), from_valley[..., None] * normal)


TRAINING = [environment_risk("A"), environment_risk("B")]
"""The risks of the two training environments."""


def starts(n: int, generator: torch.Generator) -> Tensor:
    """Draw initial parameters ``[n, 2]``, uniformly in the square that figure 1 shows."""
    return 2.4 * torch.rand(n, 2, generator=generator, dtype=torch.float64) - 1.2
