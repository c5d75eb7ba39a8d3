"""Models that sort their examples for one of the uses of a layer, as for packed sequences."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.gradients._trials.routes import routes

D, C = 4, 3
BY_EXAMPLES = ("per_example", "per_example_share")


def by_index(h: Tensor, order: Tensor) -> Tensor:
    return h[order.argsort()]


def by_index_select(h: Tensor, order: Tensor) -> Tensor:
    return h.index_select(0, order.argsort())


def by_index_put(h: Tensor, order: Tensor) -> Tensor:
    back = torch.zeros_like(h)
    back[order] = h
    return back


def by_index_copy(h: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(h).index_copy(0, order, h)


def by_index_add(h: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(h).index_add(0, order, h)


def by_gather(h: Tensor, order: Tensor) -> Tensor:
    return h.gather(0, order.argsort()[:, None].expand_as(h))


def by_scatter(h: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(h).scatter(0, order[:, None].expand_as(h), h)


def by_look_up(h: Tensor, order: Tensor) -> Tensor:
    return F.embedding(order.argsort(), h)


BACK = (
    by_index,
    by_index_select,
    by_index_put,
    by_index_copy,
    by_index_add,
    by_gather,
    by_scatter,
    by_look_up,
)


class Pairs(nn.Module):
    """Encodes two texts by one layer, each sorted by its own lengths."""

    def __init__(self, back: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.encode, self.last, self.back = nn.Linear(D, 6), nn.Linear(12, C), back

    def one(self, x: Tensor, lengths: Tensor) -> Tensor:
        order = lengths.argsort(stable=True)
        return self.back(self.encode(x[order]).tanh(), order)

    def forward(self, x: Tensor) -> Tensor:
        one, other, lengths = x[:, :D], x[:, D : 2 * D], x[:, 2 * D :]
        parts = [self.one(one, lengths[:, 0]), self.one(other, lengths[:, 1])]
        result: Tensor = self.last(torch.cat(parts, 1))
        return result


def batch(e: int, equal: bool) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(3)
    x = torch.randn(e, 1, 2 * D, generator=random).double()
    lengths = torch.stack([torch.randperm(e, generator=random) for _ in range(2)], 1)[:, None]
    x = torch.cat([x, torch.zeros_like(lengths) if equal else lengths], -1)
    return x, torch.randint(0, C, (e, 1), generator=random)


@pytest.mark.parametrize("way", BY_EXAMPLES)
@pytest.mark.parametrize("back", BACK)
def test_a_first_batch_of_equal_lengths_decides_nothing_for_later(
    back: Callable[[Tensor, Tensor], Tensor], way: str, same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(0)
    model = Pairs(back).double()
    for equal in (True, False, True):
        same_as_loop(model, F.cross_entropy, *batch(9, equal), way)


class Tied(nn.Module):
    """Sorts only inside a branch around which the rows stay, and along another axis."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.branch, self.last = nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, C)

    def forward(self, x: Tensor) -> Tensor:
        h = self.turn(x).tanh()
        order = x[:, -1].argsort()
        h = h + self.branch(h[order].flip(1)).tanh()[order.argsort()]
        result: Tensor = self.last(F.linear(h[:, torch.arange(10)], self.turn.weight).tanh())
        return result


@pytest.mark.parametrize("way", BY_EXAMPLES)
def test_rows_that_stay_need_no_pass_for_each_example(way: str, same_as_loop: Callable[..., None]) -> None:
    torch.manual_seed(0)
    model = Tied().double()
    for equal in (True, False):
        same_as_loop(model, F.cross_entropy, *batch(9, equal), way)
    assert not routes(model, F.cross_entropy).passes
