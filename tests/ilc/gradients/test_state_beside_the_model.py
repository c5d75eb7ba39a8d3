"""State that one environment hands to the next: refused wherever model, loss or program keep it."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import backward
from ilc.gradients._trials.held_values import SavedValue

E, N, D = 3, 4, 5
WAYS = [("vectorized", AndMask(0.5)), ("vectorized", Mean()), ("sequential", AndMask(0.5))]
BASELINE = [0.0]
CALLS = {"n": 0}


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, N, D, generator=generator) + torch.arange(E).view(E, 1, 1)
    return inputs, torch.randint(0, 2, (E, N), generator=generator)


def compared_with(baseline: Any, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """A risk that depends on the baseline, and the baseline of the next call."""
    risk = F.cross_entropy(outputs, targets)
    return risk * (1 + baseline), risk.detach()


class WithBaseline:
    def __init__(self) -> None:
        self.baseline: Any = 0.0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        risk, self.baseline = compared_with(self.baseline, outputs, targets)
        return risk

    def method(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self(outputs, targets)


class ModuleWithBaseline(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.baseline: Any = 0.0

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        risk, self.baseline = compared_with(self.baseline, outputs, targets)
        return risk


def in_a_closure() -> Callable[..., Tensor]:
    kept: list[Any] = [0.0]

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        risk, kept[0] = compared_with(kept[0], outputs, targets)
        return risk

    return loss


def in_a_nonlocal_variable() -> Callable[..., Tensor]:
    kept: Any = 0.0

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        nonlocal kept
        risk, kept = compared_with(kept, outputs, targets)
        return risk

    return loss


def in_a_default() -> Callable[..., Tensor]:
    def loss(outputs: Tensor, targets: Tensor, kept: Any = [0.0]) -> Tensor:  # noqa: B006
        risk, kept[0] = compared_with(kept[0], outputs, targets)
        return risk

    return loss


def in_a_global_list(outputs: Tensor, targets: Tensor) -> Tensor:
    risk, BASELINE[0] = compared_with(BASELINE[0], outputs, targets)
    return risk


def module_in_a_lambda() -> Callable[..., Tensor]:
    module = ModuleWithBaseline()
    return lambda outputs, targets: 2 * module(outputs, targets)


LOSSES: dict[str, tuple[Callable[[], Any], str]] = {
    "an object": (WithBaseline, r"loss_fn\.baseline"),
    "a method": (lambda: WithBaseline().method, r"loss_fn\.baseline"),
    "a module in a lambda": (module_in_a_lambda, r"loss_fn\.module\.baseline"),
    "a module in a partial": (lambda: partial(ModuleWithBaseline()), r"loss_fn\.baseline"),
    "a list in a closure": (in_a_closure, r"loss_fn\.kept\[0\]"),
    "a variable of a closure": (in_a_nonlocal_variable, r"loss_fn\.kept"),
    "a default": (in_a_default, r"loss_fn\[0\]"),
    "a global list": (lambda: in_a_global_list, r"the global variable BASELINE\[0\]"),
}


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("what", LOSSES)
def test_a_loss_that_reads_the_environment_before_is_refused(what: str, way: str, aggregator: Any) -> None:
    make, name = LOSSES[what]
    loss_fn, model = make(), nn.Linear(D, 2)
    with pytest.raises(UserError, match=f"changes {name},"):
        backward(model, loss_fn, *batch(), aggregator, way)
    assert BASELINE == [0.0]
    assert model.weight.grad is None


class Slotted:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = 0.0


@dataclass(frozen=True)
class Options:
    kept: dict[str, Any]


class Keeping(nn.Module):
    """A layer whose output depends on what it has kept of the pass before."""

    def __init__(self, memory: Any, read: Callable[[Any], Any], write: Callable[[Any, Any], None]) -> None:
        super().__init__()
        self.layer, self.memory, self.rules = nn.Linear(D, 2), memory, (read, write)

    def forward(self, x: Tensor) -> Tensor:
        read, write = self.rules
        outputs = self.layer(x) * (1 + read(self.memory))
        write(self.memory, x.detach().mean())
        return outputs


def keeping_an_array() -> nn.Module:
    numpy = pytest.importorskip("numpy")
    return Keeping(
        numpy.zeros(2), lambda array: float(array[1]), lambda array, value: array.__setitem__(1, float(value))
    )


def keeping_a_module() -> nn.Module:
    part = nn.Module()
    part.register_buffer("last", torch.zeros(()))
    return Keeping(
        [part], lambda parts: parts[0].last.clone(), lambda parts, value: parts[0].last.copy_(value)
    )


MODELS: dict[str, Callable[[], nn.Module]] = {
    "a namespace": lambda: Keeping(
        SimpleNamespace(value=0.0), lambda kept: kept.value, lambda kept, value: setattr(kept, "value", value)
    ),
    "slots": lambda: Keeping(
        Slotted(), lambda kept: kept.value, lambda kept, value: setattr(kept, "value", value)
    ),
    "a frozen dataclass": lambda: Keeping(
        Options({"a": 0.0}), lambda kept: kept.kept["a"], lambda kept, value: kept.kept.update(a=value)
    ),
    "an array": keeping_an_array,
    "a module in a list": keeping_a_module,
}


def outputs_once(model: nn.Module) -> Tensor:
    """The outputs of a copy, so that the model keeps what it has kept."""
    outputs: Tensor = deepcopy(model)(batch()[0][0])
    return outputs.detach()


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("what", MODELS)
def test_a_model_may_not_hide_what_it_keeps(what: str, way: str) -> None:
    model = MODELS[what]()
    first = outputs_once(model)
    with pytest.raises(UserError, match=r"changes model\.memory|\(RuntimeError: ") as error:
        backward(model, F.cross_entropy, *batch(), AndMask(0.5), way)
    assert "\n" not in str(error.value)
    assert torch.equal(outputs_once(model), first)


class Momentum(nn.Module):
    """An encoder and a frozen copy that follows it, as in momentum contrast."""

    def __init__(self, in_place: bool) -> None:
        super().__init__()
        self.encoder, self.copy, self.in_place = nn.Linear(D, 2), nn.Linear(D, 2), in_place
        self.copy.load_state_dict(self.encoder.state_dict())
        self.copy.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        for followed, p in zip(self.encoder.parameters(), self.copy.parameters(), strict=True):
            if self.in_place:
                p.data.mul_(0.9).add_(followed.data, alpha=0.1)
            else:
                p.data = 0.9 * p.data + 0.1 * followed.data
        return self.encoder(x) - self.copy(x)


@pytest.mark.parametrize("in_place", [False, True])
def test_frozen_parameters_that_a_pass_moves_are_refused(in_place: bool) -> None:
    with pytest.raises(UserError, match=r"changes model\.copy\.weight"):
        backward(Momentum(in_place), F.cross_entropy, *batch(), AndMask(0.5), "sequential")


def test_a_frozen_embedding_may_shorten_its_rows() -> None:
    model = nn.Sequential(nn.Embedding(10, D, max_norm=0.5), nn.Linear(D, 2))
    model[0].weight.requires_grad_(False)
    words = torch.randint(0, 10, (E, N))
    backward(model, F.cross_entropy, words, torch.ones(E, N, dtype=torch.long), AndMask(0.5), "sequential")


def counting(outputs: Tensor, targets: Tensor) -> Tensor:
    CALLS["n"] += 1
    return F.cross_entropy(outputs, targets)


@pytest.mark.parametrize(("way", "calls"), [("vectorized", 1), ("sequential", E)])
def test_a_counter_outside_the_model_is_no_harm_and_counts_only_steps(way: str, calls: int) -> None:
    """What trials count is taken back. What a step counts stays, so that a schedule goes on."""
    CALLS["n"], model = 0, nn.Linear(D, 2)
    for step in range(3):
        backward(model, counting, *batch(), Mean(), way)
        assert CALLS["n"] == (step + 1) * calls


class Noisy(nn.Module):
    """A layer that draws noise from a generator of its own and counts outside of itself."""

    def __init__(self, generator: Any, draw: Callable[[Any], float]) -> None:
        super().__init__()
        self.layer, self.generator, self.draw = nn.Linear(D, 2), generator, draw

    def forward(self, x: Tensor) -> Tensor:
        CALLS["n"] += 1
        return self.layer(x) + self.draw(self.generator)


def of_python() -> nn.Module:
    return Noisy(random.Random(0), lambda generator: generator.random())


def of_numpy() -> nn.Module:
    numpy = pytest.importorskip("numpy")
    return Noisy(numpy.random.default_rng(0), lambda generator: float(generator.random()))


def of_torch() -> nn.Module:
    return Noisy(
        torch.Generator().manual_seed(0), lambda generator: float(torch.rand((), generator=generator))
    )


@pytest.mark.parametrize(
    ("make", "way"),
    [(of_python, "vectorized"), *[(make, "sequential") for make in (of_python, of_numpy, of_torch)]],
)
def test_generators_of_random_numbers_are_no_state(make: Any, way: str) -> None:
    """Environments may draw different numbers. The trial draws none, and a step draws new ones."""
    model, same = make(), make()
    backward(model, F.cross_entropy, *batch(), AndMask(0.5), way)
    drawn = [same.draw(same.generator) for _ in range(E + 1)]
    assert model.draw(model.generator) == drawn[1 if way == "vectorized" else E]


def test_there_is_no_copy_of_data_that_a_loss_can_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    from ilc.gradients._trials import held_values

    monkeypatch.setattr(held_values, "_MOST_ELEMENTS", 8)
    assert SavedValue.of(torch.zeros(9)).copy is None
    data = torch.zeros(9)

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        data.add_(1)
        return F.cross_entropy(outputs, targets)

    with pytest.raises(UserError, match=r"changes loss_fn\.data,"):
        backward(nn.Linear(D, 2), loss, *batch(), AndMask(0.5), "sequential")


@pytest.mark.parametrize(
    "values",
    [
        torch.ones(4).to(torch.float8_e4m3fn),
        torch.ones(4, dtype=torch.uint8),
        torch.ones(4, dtype=torch.bool),
        torch.ones(4, dtype=torch.complex64),
        torch.ones(4, device="meta"),
        torch.eye(3).to_sparse(),
    ],
)
def test_frozen_parameters_of_any_kind_can_be_compared(values: Tensor) -> None:
    p = nn.Parameter(values, requires_grad=False)
    assert SavedValue.of(p).is_still(p)
