"""Tables of words whose padding comes first in a later batch, where no trial compares any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.gradients._trials.routes import routes

V, D, T, C = 6, 5, 4, 3
WAYS = ("vectorized", "per_example", "per_example_share")


class Words(nn.Module):
    """Adds up all words, the padding too."""

    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.table, self.tied = nn.Embedding(V, D, padding_idx=0), tied
        self.last = nn.Linear(V if tied else D, C)
        nn.init.normal_(self.table.weight)

    def forward(self, words: Tensor) -> Tensor:
        if self.tied:
            h = F.embedding(words, self.table.weight, padding_idx=0).sum(1).tanh()
            h = F.linear(h, self.table.weight).tanh()
        else:
            h = self.table(words).sum(1).tanh()
        result: Tensor = self.last(h)
        return result


def batch(way: str, least: int, seed: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    e, n = (4, 3) if way == "vectorized" else (9, 1)
    words = torch.randint(least, V, (e, n, T), generator=random)
    return words, torch.randint(0, C, (e, n), generator=random)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_padding_has_no_vote(way: str, tied: bool, same_as_loop: Callable[..., None]) -> None:
    torch.manual_seed(0)
    model = Words(tied).double()
    for step, least in enumerate((1, 1, 0)):
        same_as_loop(model, F.cross_entropy, *batch(way, least, step), way)
    assert not routes(model, F.cross_entropy).passes
