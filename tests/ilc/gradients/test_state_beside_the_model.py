"""State that one environment hands to the next: refused wherever model, loss or program keep it."""

from __future__ import annotations

import random
import threading
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
from ilc.gradients._trials import state_beside
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
    "a default": (in_a_default, r"loss_fn\[0\]\[0\]"),
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
def test_a_counter_outside_the_model_is_no_harm_and_goes_on(way: str, calls: int) -> None:
    """What a step counts stays, so that a schedule goes on."""
    model = nn.Linear(D, 2)
    backward(model, counting, *batch(), Mean(), way)
    for _ in range(3):
        before = CALLS["n"]
        backward(model, counting, *batch(), Mean(), way)
        assert CALLS["n"] == before + calls


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
    monkeypatch.setattr(state_beside, "_MOST_ELEMENTS", 8)
    assert SavedValue.of(torch.zeros(9), 8).copy is None
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


class Shared:
    """A loss whose class keeps what it has seen, for all its objects."""

    seen: list[Any] = [0.0]  # noqa: RUF012
    calls = 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        risk, self.seen[0] = compared_with(self.seen[0], outputs, targets)
        return risk


class Counting(nn.Module):
    """A model that reads a variable of its class behind a decorator."""

    n = 0

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(D, 2)

    def forward(self, x: Tensor) -> Tensor:
        type(self).n += 1
        result: Tensor = self.layer(x) * type(self).n
        return result


def test_variables_of_classes_are_looked_at() -> None:
    with pytest.raises(UserError, match=r"changes Shared\.seen\[0\],"):
        backward(nn.Linear(D, 2), Shared(), *batch(), AndMask(0.5), "sequential")
    assert Shared.seen == [0.0]
    with pytest.raises(UserError, match=r"changes Counting\.n,"):
        backward(Counting(), F.cross_entropy, *batch(), AndMask(0.5), "sequential")
    assert Counting.n == 0


class Noting(nn.Module):
    """A model that notes things which nobody reads, in objects that are made for this."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.stats, self.timer = nn.Linear(D, 2), SimpleNamespace(n=0), Slotted()

    def forward(self, x: Tensor) -> Tensor:
        self.stats.n += len(x)
        self.timer.value += 0.25
        result: Tensor = self.layer(x)
        return result


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_notes_that_nobody_reads_are_no_harm(way: str) -> None:
    backward(Noting(), F.cross_entropy, *batch(), AndMask(0.5), way)


class Trainer:
    """Holds much, as the trainers of users do, and something that another thread fills."""

    def __init__(self) -> None:
        self.words = [list(range(500)) for _ in range(2000)]
        self.images = [torch.zeros(2**18) for _ in range(80)]
        self.queue: list[int] = []
        self.steps = 0

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.steps += 1
        return F.cross_entropy(outputs, targets)


def test_a_trainer_with_much_data_is_looked_at_in_part() -> None:
    trainer = Trainer()
    state = state_beside.StateBeside(trainer.loss, nn.Linear(D, 2))
    assert sum(len(held.contents) for held in state._held) <= state_beside._MOST_VALUES
    trainer.steps = 1
    trainer.words[0].append(1)
    assert "loss_fn.steps" in state.changes()


def test_what_no_pass_changes_is_never_put_back() -> None:
    trainer = Trainer()

    state = state_beside.StateBeside(trainer.loss, nn.Linear(D, 2))
    trainer.steps = 1
    state.forget_unchanged()
    trainer.queue.append(1)  # Another thread does this during the trial.
    state.restore()
    assert trainer.queue == [1] and trainer.steps == 0


def test_a_queue_that_another_thread_fills_is_left_alone() -> None:
    trainer, stop = Trainer(), threading.Event()
    made = 0

    def fill() -> None:
        nonlocal made
        while not stop.wait(0.001):
            trainer.queue.append(made)
            made += 1

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for _ in range(2):
            backward(nn.Linear(D, 2), trainer.loss, *batch(), AndMask(0.5), "sequential")
    finally:
        stop.set()
        thread.join()
    assert trainer.queue == list(range(made))


def test_a_refusal_names_what_may_do_the_harm() -> None:
    loss_fn = WithBaseline()

    def counted(outputs: Tensor, targets: Tensor) -> Tensor:
        CALLS["n"] += 1
        return loss_fn(outputs, targets)

    with pytest.raises(UserError, match=r"loss_fn\.loss_fn\.baseline or the global variable CALLS\['n'\],"):
        backward(nn.Linear(D, 2), counted, *batch(), AndMask(0.5), "sequential")
