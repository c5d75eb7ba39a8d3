"""Environments layer by layer against torch.func, and against models for which that would be wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.errors import UserError
from ilc.gradients import EnvironmentGradients, sequential, vectorized
from ilc.gradients._ways.by_layers import known_answers
from ilc.gradients._ways.vectorized import by_vmap
from ilc.objectives import Objective, irm_penalty
from lab.models import MLP

E, N, D = 4, 5, 6


class Words(nn.Module):
    """Embedding, LayerNorm, and a linear layer over positions."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.mix, self.norm = nn.Embedding(7, 5, padding_idx=0), nn.Linear(5, 8), nn.LayerNorm(8)
        self.last = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        words = (x.abs() * 3).long() % 7
        result: Tensor = self.last(self.norm(self.mix(self.table(words))).tanh().mean(1))
        return result


class Mixed(nn.Module):
    """Mixes the examples of an environment where no layer shows it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        result: Tensor = self.last((hidden - hidden.mean(0)).tanh())
        return result


class AlsoFunctional(nn.Module):
    """Uses a layer's weight once more without calling the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, D), nn.Linear(D, 3)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(F.linear(self.first(x).tanh(), self.first.weight))
        return result


def batch(n: int = N) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, n, D, generator=random, dtype=torch.float64)
    return inputs, torch.randint(0, 3, (E, n), generator=random)


def make(model: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(1)
    return model().double()


def assert_same(
    model: nn.Module, oracle: Callable[..., EnvironmentGradients], n: int, goes_by_layers: bool
) -> None:
    inputs, targets = batch(n)
    found = vectorized(model, F.cross_entropy, inputs, targets, also=("log_sum",))
    expected = oracle(model, F.cross_entropy, inputs, targets, also=("log_sum",))
    assert list(known_answers(model).values()) == [goes_by_layers]
    torch.testing.assert_close(found.risks, expected.risks)
    for name, ours in found.statistics.items():
        theirs = expected.statistics[name]
        assert ours.n_environments == theirs.n_environments == E
        torch.testing.assert_close(ours.total, theirs.total)
        assert torch.equal(ours.sign_sum, theirs.sign_sum)
        torch.testing.assert_close(ours.log_sum, theirs.log_sum)


@pytest.mark.parametrize("n", [1, N])
@pytest.mark.parametrize("model", [lambda: MLP(D, 3, 10, 2), Words], ids=["perceptron", "words"])
def test_by_layers_is_by_vmap(model: Callable[[], nn.Module], n: int) -> None:
    assert_same(make(model), by_vmap, n, goes_by_layers=True)


@pytest.mark.parametrize("model", [Mixed, AlsoFunctional])
def test_what_the_layers_do_not_show_goes_by_vmap(model: Callable[[], nn.Module]) -> None:
    assert_same(make(model), sequential, N, goes_by_layers=False)


@pytest.mark.parametrize(
    "model",
    [
        lambda: MLP(D, 3, 10, 2, batch_norm=True),
        lambda: MLP(D, 3, 10, 2, dropout=0.5),
        lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Conv1d(2, 3, 2), nn.Flatten()),
    ],
)
def test_these_are_not_even_tried(model: Callable[[], nn.Module]) -> None:
    tried = make(model)
    vectorized(tried, F.cross_entropy, *batch())
    assert known_answers(tried) == {}


def test_the_penalty_of_irm() -> None:
    def objective(outputs: Tensor, targets: Tensor) -> Objective:
        risk, penalty = F.cross_entropy(outputs, targets), irm_penalty(outputs, targets)
        return Objective(risk + 3 * penalty, risk, penalty)

    inputs, targets = batch()
    model = make(lambda: MLP(D, 3, 10, 2))
    found, expected = (way(model, objective, inputs, targets) for way in (vectorized, by_vmap))
    assert list(known_answers(model).values()) == [True]
    assert found.penalties is not None
    assert expected.penalties is not None
    torch.testing.assert_close(found.penalties, expected.penalties)
    for name, ours in found.statistics.items():
        torch.testing.assert_close(ours.total, expected.statistics[name].total)


class MixedBeforeTwo(nn.Module):
    """A norm over two features leaves almost nothing but signs of the mixing before it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(D, 2), nn.LayerNorm(2), nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.norm(self.first(x + 0.5 * x.roll(1, 0))))
        return result


def test_mixing_that_hardly_shows_goes_by_vmap() -> None:
    assert_same(make(MixedBeforeTwo), sequential, N, goes_by_layers=False)


class Changed(nn.Module):
    """What it computes depends on an object that no trial looks into."""

    def __init__(self, writes: bool) -> None:
        super().__init__()
        self.first, self.last, self.writes = nn.Linear(5, 7), nn.Linear(7, 3), writes

    def forward(self, x: Tensor) -> Tensor:
        if self.writes:
            x.mul_(0.5)
        hidden = self.first(x).softmax(SWITCH["axis"])
        result: Tensor = self.last(hidden.sin() if SWITCH["sine"] else hidden)
        return result


SWITCH = {"axis": 1, "sine": 0}


def changed(writes: bool) -> tuple[Changed, Tensor, Tensor]:
    torch.manual_seed(0)
    return Changed(writes).double(), torch.randn(4, 8, 5).double(), torch.randint(0, 3, (4, 8))


def test_another_axis_is_another_operation(
    same_as_loop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x, y = changed(writes=False)
    for axis in (1, 0):
        monkeypatch.setitem(SWITCH, "axis", axis)
        same_as_loop(model, F.cross_entropy, x, y, "vectorized")


def test_inputs_that_are_written_into_are_not_passed_again(
    same_as_loop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x, y = changed(writes=True)
    same_as_loop(model, F.cross_entropy, x.clone(), y, "vectorized")
    monkeypatch.setitem(SWITCH, "sine", 1)
    with pytest.raises(UserError, match=r"x\.clone\(\)"):
        same_as_loop(model, F.cross_entropy, x.clone(), y, "vectorized")


class ByNumberOfRows(nn.Module):
    """Has a factor that is 1 for few rows and smaller for many; the operations are the same."""

    def __init__(self, of: Callable[[int], Tensor]) -> None:
        super().__init__()
        self.first, self.last, self.of = nn.Linear(D, 8), nn.Linear(8, 3), of

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.first(x).tanh() * self.of(len(x)))
        return result


FACTORS: dict[str, Callable[[int], Tensor]] = {
    "of all": lambda n: torch.tensor(12 / max(n, 12)),
    "of the first rows": lambda n: torch.where(torch.arange(n) < n - 12, 0.5, 1.0)[:, None],
    "of the last rows": lambda n: torch.where(torch.arange(n) < 12, 1.0, 0.5)[:, None],
}


@pytest.mark.parametrize("of", FACTORS)
def test_a_factor_that_depends_on_the_number_of_rows(of: str, same_as_loop: Callable[..., None]) -> None:
    """The trial has two environments, of ten rows; the factor is another one from three on."""
    torch.manual_seed(0)
    model = ByNumberOfRows(FACTORS[of])
    for n_environments in (4, 2, 3):
        x, y = torch.randn(n_environments, N, D), torch.randint(0, 3, (n_environments, N))
        same_as_loop(model, F.cross_entropy, x, y, "vectorized")
        same_as_loop(model, F.cross_entropy, x, y, "sequential")
