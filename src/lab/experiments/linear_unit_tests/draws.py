"""The authors' hyperparameter draws and starting weights: draw m is what their model seed m gives.

They seed Python's and PyTorch's generators alike, draw the hyperparameters from the first and the layer
from the second; draw 0 takes the defaults. All data seeds share the draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch
from torch import Tensor

from lab.experiments.linear_unit_tests.methods import Search

OFFSET = 1000
"""Between a model seed and what the generators get, so that it is no data seed."""


def options_of(searched: Mapping[str, Search], n_draws: int) -> dict[str, Tensor]:
    """The options of each draw, ``[M]`` by name, in double precision."""
    rows = []
    for seed in range(n_draws):
        random = Random(OFFSET + seed)
        drawn = {
            name: search.at(random.uniform(search.low, search.high)) for name, search in searched.items()
        }
        rows.append({name: search.default for name, search in searched.items()} if seed == 0 else drawn)
    return {name: torch.tensor([row[name] for row in rows], dtype=torch.float64) for name in searched}


def starting_weights(n_parameters: int, n_draws: int) -> Tensor:
    """``[P, M]``, the bias last: uniform as in ``torch.nn.Linear``, weights before biases."""
    bound = (n_parameters - 1) ** -0.5
    columns = []
    for seed in range(n_draws):
        random = torch.Generator().manual_seed(OFFSET + seed)
        weights = torch.empty(n_parameters - 1).uniform_(-bound, bound, generator=random)
        bias = torch.empty(1).uniform_(-bound, bound, generator=random)
        columns.append(torch.cat([weights, bias]))
    return torch.stack(columns, 1)
