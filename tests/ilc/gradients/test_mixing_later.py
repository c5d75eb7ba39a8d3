"""Mixing of rows that does nothing to the first batch: votes stay right, or the way is refused at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import environment_gradients
from ilc.gradients._trials.counters import counters_far_ahead

D, C = 5, 3
BY_EXAMPLES = ("per_example", "per_example_share")


def shifted(h: Tensor) -> Tensor:
    """One row later; the first one is zero."""
    return F.pad(h, (0, 0, 1, 0))


LIMITS: dict[str, Callable[[Tensor], Tensor]] = {
    "of the row before": lambda h: shifted(F.relu(h[:-1] - 0.9)),
    "of the row after": lambda h: F.pad(F.relu(h[1:] - 0.9), (0, 0, 0, 1)),
    "of the step from the row before": lambda h: shifted(F.relu((h[1:] - h[:-1]).abs() - 1.9)),
    "of the first row": lambda h: F.relu(h[:1] - 0.9),
    "of the last row": lambda h: F.relu(h[-1] - 0.9),
    "of flipped rows": lambda h: F.relu(h.flip(0) - 0.9),
    "of the largest": lambda h: F.relu(h.sort(0).values[-1] - 0.9),
    "of rows so far": lambda h: F.relu(h.cumsum(0) / (1 + torch.arange(len(h)))[:, None] - 0.9),
    "of a window": lambda h: F.relu(F.max_pool1d(h.T[None], 3, 1, 1)[0].T - 0.9),
}


class Limited(nn.Module):
    """Brings rows together where a limit is reached."""

    def __init__(self, part: Callable[[Tensor], Tensor], normed: bool = False) -> None:
        super().__init__()
        self.first, self.last, self.part = nn.Linear(D, 7), nn.Linear(7, C), part
        self.norm = nn.BatchNorm1d(7) if normed else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(self.first(x)).tanh()
        result: Tensor = self.last(h + self.part(h))
        return result


def batch(e: int, n: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    return torch.randn(e, n, D, generator=random).double(), torch.randint(0, C, (e, n), generator=random)


@pytest.mark.parametrize("kind", LIMITS)
def test_a_limit_reached_later_mixes_no_environments(kind: str, same_as_loop: Callable[..., None]) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Limited(LIMITS[kind]).double(), batch(8, 2)
    for factor in (0.05, 6):
        same_as_loop(model, F.cross_entropy, factor * inputs, targets, "vectorized")


@pytest.mark.parametrize("way", BY_EXAMPLES)
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("kind", LIMITS)
def test_a_limit_not_reached_yet_is_refused_per_example(kind: str, normed: bool, way: str) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Limited(LIMITS[kind], normed).double(), batch(6, 1)
    if normed:
        with torch.no_grad():
            model.norm.weight.fill_(0.05)  # type: ignore[operator]
    with pytest.raises(UserError, match="gradients='per_example_loss'"):
        environment_gradients(model, F.cross_entropy, 0.05 * inputs, targets, AndMask(0.5), way)


class Ramped(nn.Module):
    """Manifold mixup whose strength grows with the number of passes."""

    steps: Tensor

    def __init__(self, start: Tensor, reverse: bool = False) -> None:
        super().__init__()
        self.first, self.last, self.reverse = nn.Linear(D, 7), nn.Linear(7, C), reverse
        self.register_buffer("steps", start)

    def forward(self, x: Tensor) -> Tensor:
        h, w = self.first(x).tanh(), (self.steps.double() / 100).clamp(max=0.5)
        self.steps += 1
        others = h.flip(0) if self.reverse else h[torch.randperm(len(h))]
        result: Tensor = self.last((1 - w) * h + w * others)
        return result


STARTS = {
    "whole": torch.zeros((), dtype=torch.long),
    "bytes": torch.zeros(1, dtype=torch.uint8),
    "float": torch.zeros(1),
}


@pytest.mark.parametrize("way", BY_EXAMPLES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("start", STARTS)
def test_mixing_that_grows_with_a_counter_is_refused_at_once(start: str, reverse: bool, way: str) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Ramped(STARTS[start].clone(), reverse).double(), batch(6, 1)
    before = model.steps.clone()
    with pytest.raises(UserError, match="something other than BatchNorm mixes the examples"):
        environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), way)
    assert torch.equal(model.steps, before)


class Warmed(nn.Module):
    """A scale that grows with the number of passes."""

    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 7), nn.Linear(7, C)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        h, w = self.first(x).tanh(), (self.steps / 4).clamp(max=1)
        self.steps += 1
        result: Tensor = self.last(h * (1 + w))
        return result


@pytest.mark.parametrize("way", BY_EXAMPLES)
def test_a_counter_that_mixes_nothing_is_no_harm(way: str) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Warmed().double(), batch(6, 1)
    for step in range(3):
        assert int(model.steps) == step
        environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), way)


def test_counters_are_put_back() -> None:
    model, (inputs, _) = Ramped(torch.zeros((), dtype=torch.long)).double(), batch(6, 1)
    with counters_far_ahead(model, F.cross_entropy, inputs) as ahead:
        assert ahead and int(model.steps) == 10**6
    assert int(model.steps) == 0


class Gated(nn.Module):
    """Two experts, of which each example chooses one by its hidden values, with dropout inside."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate = nn.Linear(D, 6), nn.Linear(6, 2)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(6, C), nn.Dropout(0.5), nn.Linear(C, C)) for _ in range(2)]
        )

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        chance = self.gate(h).softmax(-1)
        result = x.new_zeros(len(x), C)
        for number, expert in enumerate(self.experts):
            mine = chance.argmax(-1) == number
            result[mine] = expert(h[mine]) * chance[mine, number, None]
        return result


class Stable(nn.Module):
    """Takes the largest number of the whole batch out of an exponential, which changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 7), nn.Linear(7, C)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        shares = (h - h.detach().max()).exp()
        result: Tensor = self.last(shares / shares.sum(-1, keepdim=True))
        return result


class Residual(nn.Module):
    """Deep, without a norm, so that large numbers grow beyond all limits."""

    def __init__(self) -> None:
        super().__init__()
        self.layers, self.last = nn.ModuleList([nn.Linear(D, D) for _ in range(12)]), nn.Linear(D, C)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x) * layer(x).sigmoid()
        result: Tensor = self.last(x.exp().clamp(max=9))
        return result


LEGITIMATE: dict[str, Callable[[], nn.Module]] = {
    "experts with dropout": Gated,
    "a stable exponential": Stable,
    "deep and without a norm": Residual,
    "BatchNorm and dropout": lambda: nn.Sequential(
        nn.Linear(D, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, C)
    ),
    "BatchNorm in half precision": lambda: nn.Sequential(
        nn.Linear(D, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, C)
    ).to(torch.bfloat16),
}


@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize("way", BY_EXAMPLES)
@pytest.mark.parametrize("kind", LEGITIMATE)
def test_models_whose_rows_keep_to_themselves_are_not_refused(kind: str, way: str, n: int) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = LEGITIMATE[kind](), batch(n, 1)
    inputs = inputs.to(next(model.parameters()).dtype)
    environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), way)
