"""The few lines of the IRM paper's linear structural equations that scoring needs.

X ~ N(0, s^2 I), Y = X + N(0, s^2 I), Z = Y + N(0, I), five components each; features (X, Z), target
the sum of Y. Every environment has its own s. The invariant weights are 1 on X and 0 on Z
(Arjovsky et al. 2019, appendix; scales 0.2, 2 and 5 as there).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.seeding import generator_for

SCALES = (0.2, 2.0, 5.0)
DIMENSIONS = 5
N_EXAMPLES = 1000
TEST_SCALE = 1.0


def sample(scale: float, generator: torch.Generator, shuffle_effects: bool = False) -> tuple[Tensor, Tensor]:
    """Features ``[N, 10]`` and targets ``[N]``; with ``shuffle_effects`` Z belongs to other examples."""
    noise = torch.randn(3, N_EXAMPLES, DIMENSIONS, generator=generator, dtype=torch.float64)
    x = scale * noise[0]
    y = x + scale * noise[1]
    z = y + noise[2]
    if shuffle_effects:
        z = z.roll(1, dims=0)
    return torch.cat([x, z], dim=1), y.sum(1)


def training_data(n_seeds: int) -> tuple[Tensor, Tensor]:
    """Features ``[S, E, N, 10]`` and targets ``[S, E, N]``."""
    sets = []
    for s in range(n_seeds):
        generator = generator_for(s, "linear_sem")
        sets.append([sample(scale, generator) for scale in SCALES])
    features = torch.stack([torch.stack([x for x, _ in seed_sets]) for seed_sets in sets])
    return features, torch.stack([torch.stack([y for _, y in seed_sets]) for seed_sets in sets])


def test_risk(seed: int, theta: Tensor) -> float:
    """Mean squared error where Z says nothing about Y, in an environment of scale 1."""
    x, y = sample(TEST_SCALE, generator_for(seed, "linear_sem test"), shuffle_effects=True)
    return float((x @ theta - y).square().mean())
