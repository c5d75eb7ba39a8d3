"""The authors' linear regression: four environments with one example each, and five weights.

Environment i has a strong private feature (3, at place i). All environments share a weak feature (0.3, in
the last place). The target is 1. Averaging ends in the patchwork solution (1/3, 1/3, 1/3, 1/3, small). The
logical AND with weight decay ends in the shared solution (0, 0, 0, 0, about 3). The problem comes from the
authors' notebook.
"""

from __future__ import annotations

import torch
from torch import Tensor

N_ENVIRONMENTS = 4


def make_inputs(noise: float = 0.0, generator: torch.Generator | None = None) -> Tensor:
    """Return inputs ``[E, 5]``. ``noise`` is the half-width of uniform noise on the private features."""
    private = torch.eye(N_ENVIRONMENTS, dtype=torch.float64)
    inputs = 3 * torch.cat([private, torch.full((N_ENVIRONMENTS, 1), 0.1, dtype=torch.float64)], dim=1)
    if noise > 0:
        drawn = torch.rand(N_ENVIRONMENTS, N_ENVIRONMENTS, generator=generator, dtype=torch.float64)
        inputs[:, :-1] += noise * (2 * drawn - 1)
    return inputs


def risk(theta: Tensor, inputs: Tensor) -> Tensor:
    """Return half the squared error of one example with inputs ``[5]``."""
    return 0.5 * (inputs @ theta - 1).square()


def unseen_environment() -> Tensor:
    """Return inputs ``[5]`` of an environment in which only the shared feature helps.

    Its private feature was never seen in training.
    """
    inputs = torch.zeros(N_ENVIRONMENTS + 1, dtype=torch.float64)
    inputs[-1] = 0.3
    return inputs
