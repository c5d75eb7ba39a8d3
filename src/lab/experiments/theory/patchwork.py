"""The patchwork network of the appendix: each of its two neurons serves one environment (equation 5)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

PATCHWORK = (100.0, -50.0, 100.0, -75.0, 1.0, 1.0)
"""The paper's theta*."""
ALTERED = (100.0, -50.0, 100.0, -75.0, 1.0, -0.5)
"""The paper's theta~*. It hardly changes the risk of environment A, but it changes that of B."""
CENTRED = (100.0, -45.0, 100.0, -75.0, 1.0, 1.0)
"""theta* with the first step at the centre of its ramp. It fits A ten times better (our correction)."""


def network(theta: Tensor, x: Tensor) -> Tensor:
    """Return the output at ``x`` ``[N]`` of the two-neuron network with parameters ``[6]`` (equation 5)."""
    first = theta[4] * torch.sigmoid(theta[0] * x + theta[1])
    return first + theta[5] * torch.sigmoid(theta[2] * x + theta[3])


def target(x: Tensor) -> Tensor:
    """Return the paper's f*, which has ramps from 0 to 1 on [0.4, 0.5] and from 1 to 2 on [0.7, 0.8]."""
    return 10 * ((x - 0.4).clamp(0, 0.1) + (x - 0.7).clamp(0, 0.1))


def environment_inputs(split: str, n: int = 1001) -> tuple[Tensor, Tensor]:
    """Return the inputs of two environments on an even grid of ``n`` points in [0, 1].

    Args:
        split: ``interval`` is the paper's A = [0, 0.5] and B = [0.5, 1]. With ``interleaved``, each
            environment has every other point, so that both environments show both ramps.
        n: the number of points, which must be odd.
    """
    x = torch.linspace(0, 1, n, dtype=torch.float64)
    if split == "interval":
        return x[: n // 2 + 1], x[n // 2 :]
    return x[::2], x[1::2]


def environment_risks(split: str, n: int = 1001) -> list[Callable[[Tensor], Tensor]]:
    """Return the mean squared errors of both environments as functions of the parameters ``[6]``."""
    return [_risk(x) for x in environment_inputs(split, n)]


def _risk(x: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda theta: (network(theta, x) - target(x)).square().mean()
