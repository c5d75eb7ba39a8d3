"""The authors' draws of hyperparameters and initial weights; draw m is that of their model seed m.

The authors give Python's and PyTorch's generators the same seed. They draw the hyperparameters from
Python's and the layer's weights from PyTorch's. Draw 0 takes the default hyperparameters. All data seeds
share the draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch
from torch import Tensor

from lab.experiments.linear_unit_tests.methods import Search

OFFSET = 1000
"""The number that is added to a model seed to seed the generators, so that the sum is no data seed."""


def options_of(searched: Mapping[str, Search], n_draws: int) -> dict[str, Tensor]:
    """Return the options of all draws, ``[M]`` by name, in double precision."""
    rows = []
    for seed in range(n_draws):
        random = Random(OFFSET + seed)
        drawn = {
            name: search.at(random.uniform(search.low, search.high)) for name, search in searched.items()
        }
        rows.append({name: search.default for name, search in searched.items()} if seed == 0 else drawn)
    return {name: torch.tensor([row[name] for row in rows], dtype=torch.float64) for name in searched}


def starting_weights(n_parameters: int, n_draws: int) -> Tensor:
    """Return the initial weights ``[P, M]`` with the bias last, uniform as in ``torch.nn.Linear``.

    The weights of a draw are drawn before its bias.
    """
    bound = (n_parameters - 1) ** -0.5
    columns = []
    for seed in range(n_draws):
        random = torch.Generator().manual_seed(OFFSET + seed)
        weights = torch.empty(n_parameters - 1).uniform_(-bound, bound, generator=random)
        bias = torch.empty(1).uniform_(-bound, bound, generator=random)
        columns.append(torch.cat([weights, bias]))
    return torch.stack(columns, 1)
