"""Layers whose first axis is not the examples: votes go to the right environment, or the way is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import Mean
from ilc.errors import UserError

D, C = 5, 3


class Positions(nn.Module):
    """A table of positions looked up once, below or above other layers."""

    def __init__(self, t: int, one_row: bool = False, normed: bool = False) -> None:
        super().__init__()
        self.first, self.table, self.last = nn.Linear(D, 6), nn.Embedding(t, 6), nn.Linear(6, C)
        self.norm = nn.LayerNorm(6) if normed else nn.Identity()
        self.one_row = one_row

    def forward(self, x: Tensor) -> Tensor:
        where = torch.arange(x.shape[1])
        shift = self.norm(self.table(where[None] if self.one_row else where))
        result: Tensor = self.last((self.first(x) + shift).tanh().mean(1))
        return result


class TimeFirst(nn.Module):
    def __init__(self, t: int) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(D, 6), nn.LayerNorm(6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.first(x.transpose(0, 1))).tanh()
        result: Tensor = self.last(hidden.mean(0))
        return result


class Query(nn.Module):
    """One learned row, the same for all examples."""

    def __init__(self, t: int) -> None:
        super().__init__()
        self.key, self.query, self.last = nn.Linear(D, 6), nn.Linear(6, 6), nn.Linear(6, C)
        self.register_buffer("token", torch.ones(1, 6))

    def forward(self, x: Tensor) -> Tensor:
        key = self.key(x.mean(1)).tanh()
        result: Tensor = self.last(key * (key @ self.query(self.token).T).sigmoid())
        return result


class Flattened(nn.Module):
    """Examples and positions in one axis."""

    def __init__(self, t: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x.flatten(0, 1)).tanh().unflatten(0, x.shape[:2])
        result: Tensor = self.last(hidden.mean(1))
        return result


class Backwards(nn.Module):
    """The examples in another order, and back."""

    def __init__(self, t: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.first(x.mean(1).flip(0)).tanh().flip(0))
        return result


MODELS: dict[str, Callable[[int], nn.Module]] = {
    "positions": Positions,
    "positions in one row": lambda t: Positions(t, one_row=True),
    "positions above a norm": lambda t: Positions(t, normed=True),
    "time first": TimeFirst,
    "a learned query": Query,
    "examples and positions in one axis": Flattened,
    "examples backwards": Backwards,
}
# E, N, T: as long as all examples, as two or three environments, as one, as E, and like none of them.
SIZES = [(2, 4, 8), (4, 3, 6), (2, 2, 6), (3, 4, 12), (3, 4, 4), (3, 2, 3), (1, 4, 4), (4, 1, 4), (3, 4, 5)]


def batch(e: int, n: int, t: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(e, n, t, D, generator=random, dtype=torch.float64).to(dtype)
    return inputs, torch.randint(0, C, (e, n), generator=random)


def make(kind: str, t: int, dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(1)
    return MODELS[kind](t).to(dtype)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", MODELS)
def test_votes_of_environments(
    kind: str, sizes: tuple[int, int, int], same_as_loop: Callable[..., None]
) -> None:
    dtype = torch.float64 if sum(sizes) % 2 else torch.float32
    model = make(kind, sizes[2], dtype)
    for way in ("vectorized", "sequential"):
        same_as_loop(model, F.cross_entropy, *batch(*sizes, dtype), way)
    same_as_loop(model, F.cross_entropy, *batch(*sizes, dtype), "vectorized", Mean())


@pytest.mark.parametrize("way", ["per_example", "per_example_share", "per_example_loss"])
@pytest.mark.parametrize("sizes", [(8, 8), (3, 3), (2, 3), (1, 4), (4, 6)])
@pytest.mark.parametrize("kind", MODELS)
def test_votes_of_examples(
    kind: str, sizes: tuple[int, int], way: str, same_as_loop: Callable[..., None]
) -> None:
    n, t = sizes
    inputs, targets = batch(n, 1, t, torch.float64)
    try:
        same_as_loop(make(kind, t, torch.float64), F.cross_entropy, inputs, targets, way)
    except UserError as error:
        assert way != "per_example_loss"
        assert "gradients='per_example_loss'" in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("way", ["vectorized", "per_example_share"])
def test_sizes_that_change_from_step_to_step(way: str, same_as_loop: Callable[..., None]) -> None:
    """What was right for one batch is not taken for another whose axes are as long as each other."""
    model = make("positions", 24, torch.float64)
    plain = make("examples and positions in one axis", 24, torch.float64)
    for e, n, t in [(3, 4, 5), (3, 4, 12), (2, 6, 12), (5, 2, 4), (2, 2, 4), (6, 4, 24), (3, 4, 8)]:
        inputs, targets = batch(e, n, t, torch.float64)
        if way != "vectorized":
            inputs, targets = inputs.flatten(0, 1)[:, None], targets.flatten()[:, None]
        for each in (model, plain):
            try:
                same_as_loop(each, F.cross_entropy, inputs, targets, way)
            except UserError:
                assert way != "vectorized"


class Trimmed(nn.Module):
    """Cuts padding to the longest text of the batch, and has time on the first axis, as torch's RNNs have."""

    def __init__(self, positions: bool) -> None:
        super().__init__()
        self.words, self.scale, self.last = nn.Embedding(20, 6), nn.Parameter(torch.randn(6)), nn.Linear(6, C)
        self.where = nn.Parameter(torch.randn(8, 1, 6)) if positions else None

    def forward(self, ids: Tensor) -> Tensor:
        ids = ids[:, : int((ids > 0).sum(1).max())]
        hidden = self.words(ids).transpose(0, 1) * self.scale
        if self.where is not None:
            hidden = hidden + self.where[: ids.shape[1]] * self.scale
        keep = (ids > 0).to(hidden).t().unsqueeze(-1)
        result: Tensor = self.last((hidden.tanh() * keep).sum(0) / keep.sum(0))
        return result


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(
    "steps", [([2] * 6, [2, 6, 4, 3, 2, 2]), ([2, 6, 4, 3, 2, 2],), ([1, 2, 3, 4, 5, 6], [6] * 6, [3] * 6)]
)
def test_a_length_that_follows_the_data_is_not_taken_for_the_examples(
    steps: tuple[list[int], ...], positions: bool, way: str, same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(0)
    model = Trimmed(positions).double()
    for lengths in steps:
        ids = torch.randint(1, 20, (len(lengths), 1, 8))
        ids *= torch.arange(8) < torch.tensor(lengths).view(-1, 1, 1)
        targets = torch.randint(0, C, (len(lengths), 1))
        same_as_loop(model, F.cross_entropy, ids, targets, way)
