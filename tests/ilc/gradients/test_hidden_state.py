"""State in places that nobody searches, and trainable parameters that a pass writes: found by behaviour."""

from __future__ import annotations

import os
import random
import secrets
import threading
from array import array
from collections import UserDict
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import spectral_norm, weight_norm

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import backward
from ilc.gradients._trials import written_parameters

E, N, D = 3, 4, 5
WAYS = [("vectorized", AndMask(0.5)), ("vectorized", Mean()), ("sequential", AndMask(0.5))]
ELSEWHERE = r"same examples passed twice give another risk.*register_buffer"
Z = torch.zeros(2)


def batch(n: int = E) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(n, N, D, generator=generator) + torch.arange(n).view(n, 1, 1)
    return inputs, torch.randint(0, 2, (n, N), generator=generator)


class Centred(nn.Module):
    """A layer from whose outputs the running mean of earlier passes is taken."""

    def __init__(self, place: Any, read: Callable[[Any], Any], write: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.layer, self.place, self.rules = nn.Linear(D, 2), place, (read, write)

    def forward(self, x: Tensor) -> Tensor:
        read, write = self.rules
        outputs = self.layer(x)
        centre = read(self.place)
        write(self.place, 0.5 * centre + 0.5 * outputs.detach().mean(0))
        result: Tensor = outputs.tanh() * (1 + centre)
        return result


def first_number(value: Tensor) -> float:
    return float(value[0])


def set_item(kept: Any, value: Any) -> None:
    kept["c"] = value


def of_attribute(kept: Any) -> nn.Module:
    return Centred(kept, lambda kept: getattr(kept, "c", Z), lambda kept, value: setattr(kept, "c", value))


def of_a_parameter() -> nn.Module:
    model: Any = of_attribute(None)
    model.place = model.layer.weight
    return model


def of_a_weak_dictionary() -> nn.Module:
    kept: Any = WeakKeyDictionary()
    model = Centred(kept, lambda kept: next(iter(kept.values()), Z), lambda kept, value: None)
    model.rules = (model.rules[0], lambda kept, value: kept.__setitem__(model, value))
    return model


def of_a_partial() -> nn.Module:
    kept: dict[str, Any] = {"c": Z}
    read, write = partial(kept.get, "c"), partial(kept.__setitem__, "c")
    return Centred(None, lambda _, read=read: read(), lambda _, value, write=write: write(value))


def deep_lists(depth: int) -> list[Any]:
    return [Z] if depth == 0 else [deep_lists(depth - 1)]


def innermost(kept: list[Any]) -> list[Any]:
    return innermost(kept[0]) if isinstance(kept[0], list) else kept


class Part:
    c: Any = Z


def chain(depth: int) -> Part:
    part = Part()
    if depth:
        part.next = chain(depth - 1)  # type: ignore[attr-defined]
    return part


def end_of(part: Any) -> Any:
    return end_of(part.next) if hasattr(part, "next") else part


def of_an_array_of_objects() -> nn.Module:
    numpy = pytest.importorskip("numpy")
    kept = numpy.empty(1, dtype=object)
    kept[0] = Z
    return Centred(kept, lambda kept: kept[0], lambda kept, value: kept.__setitem__(0, value))


class Meta(type):
    c: Any = Z


HIDDEN: dict[str, Callable[[], nn.Module]] = {
    "an attribute of a parameter": of_a_parameter,
    "an attribute of a plain tensor": lambda: of_attribute(torch.zeros(1)),
    "a local of the thread": lambda: of_attribute(threading.local()),
    "a context variable": lambda: Centred(
        ContextVar("c"), lambda kept: kept.get(Z), lambda kept, value: kept.set(value)
    ),
    "a UserDict": lambda: Centred(UserDict(c=Z), lambda kept: kept["c"], set_item),
    "a weak dictionary": of_a_weak_dictionary,
    "a bytearray": lambda: Centred(
        bytearray(1),
        lambda kept: torch.full((2,), kept[0] / 100),
        lambda kept, value: kept.__setitem__(0, int(abs(first_number(value)) * 100) % 250 + 1),
    ),
    "an array of Python": lambda: Centred(
        array("d", [0.0]),
        lambda kept: torch.full((2,), kept[0]),
        lambda kept, value: kept.__setitem__(0, first_number(value)),
    ),
    "an array of objects": of_an_array_of_objects,
    "deep lists": lambda: Centred(
        deep_lists(7),
        lambda kept: innermost(kept)[0],
        lambda kept, value: innermost(kept).__setitem__(0, value),
    ),
    "a long chain of objects": lambda: Centred(
        chain(7), lambda kept: end_of(kept).c, lambda kept, value: setattr(end_of(kept), "c", value)
    ),
    "an object in a frozenset": lambda: Centred(
        frozenset([Part()]),
        lambda kept: next(iter(kept)).c,
        lambda kept, value: setattr(next(iter(kept)), "c", value),
    ),
    "a distribution": lambda: Centred(
        torch.distributions.Normal(Z, 1.0),
        lambda kept: kept.loc,
        lambda kept, value: setattr(kept, "loc", value),
    ),
    "a partial of a method": of_a_partial,
    "the variables of the shell": lambda: Centred(
        None,
        lambda _: torch.full((2,), float(os.environ.get("ILC_TEST", "0"))),
        lambda _, value: os.environ.__setitem__("ILC_TEST", str(first_number(value))),
    ),
    "a variable of a metaclass": lambda: Centred(
        None, lambda _: Meta.c, lambda _, value: setattr(Meta, "c", value)
    ),
    "a variable of another class": lambda: Centred(
        None, lambda _: Part.c, lambda _, value: setattr(Part, "c", value)
    ),
}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ILC_TEST", "0")
    monkeypatch.setattr(Meta, "c", Z)
    monkeypatch.setattr(Part, "c", Z)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("what", HIDDEN)
def test_state_in_a_place_that_is_not_searched_is_refused(what: str, way: str, aggregator: Any) -> None:
    model = HIDDEN[what]()
    with pytest.raises(UserError, match=rf"{ELSEWHERE}|the forward pass changes") as error:
        backward(model, F.cross_entropy, *batch(), aggregator, way)
    assert "\n" not in str(error.value) and "RuntimeError" not in str(error.value)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("decay", [0.0, 0.1, 0.9, 0.99])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (4, 2, 3), (4,)])
def test_fast_and_slow_state_is_refused_for_environments_of_any_sizes(
    decay: float, sizes: tuple[int, ...]
) -> None:
    inputs, targets = batch(len(sizes))
    model = Centred(UserDict(c=Z), lambda kept: kept["c"], set_item)

    def fading(kept: Any, value: Any) -> None:
        kept["c"] = decay * kept["c"] + (1 - decay) * (2 * value - kept["c"])

    model.rules = (model.rules[0], fading)
    xs, ys = ([one[:n] for one, n in zip(values, sizes, strict=True)] for values in (inputs, targets))
    with pytest.raises(UserError, match=ELSEWHERE):
        backward(model, F.cross_entropy, xs, ys, AndMask(0.5), "sequential")


def test_state_behind_a_nest_is_refused() -> None:
    class OfANest(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Centred(UserDict(c=Z), lambda kept: kept["c"], set_item)

        def forward(self, x: Tensor, shift: Tensor) -> Tensor:
            result: Tensor = self.inner(x + shift)
            return result

    inputs, targets = batch()
    nest = {"x": inputs, "shift": torch.ones(E, N, 1)}
    for way in ("vectorized", "sequential"):
        with pytest.raises(UserError, match=ELSEWHERE):
            backward(OfANest(), F.cross_entropy, nest, targets, AndMask(0.5), way)


def test_what_a_loss_hides_is_refused() -> None:
    kept: Any = UserDict(c=torch.zeros(()))

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        risk = F.cross_entropy(outputs, targets) * (1 + kept["c"])
        kept["c"] = risk.detach()
        return risk

    with pytest.raises(UserError, match=ELSEWHERE):
        backward(nn.Linear(D, 2), loss, *batch(), AndMask(0.5), "sequential")


class Drawing(nn.Module):
    """A layer that shifts its outputs by a number that it draws anew in each pass."""

    def __init__(self, draw: Callable[[], Any]) -> None:
        super().__init__()
        self.layer, self.draw = nn.Linear(D, 2), draw

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x).tanh() * (1 + self.draw())
        return result


def of_a_hidden_generator() -> Callable[[], Any]:
    kept: Any = UserDict(generator=torch.Generator().manual_seed(3))
    return lambda: torch.rand((), generator=kept["generator"])


DRAWS: dict[str, Callable[[], Any]] = {
    "the system's": random.SystemRandom().random,
    "bytes of the system": lambda: os.urandom(1)[0] / 255,
    "a coin": lambda: secrets.randbelow(2),
    "a rare event": lambda: int(secrets.randbelow(10) == 0),
    "a generator in a hidden place": of_a_hidden_generator(),
}


@pytest.mark.parametrize("what", DRAWS)
def test_random_numbers_that_nobody_can_seed_are_no_state(what: str) -> None:
    for _ in range(5):
        backward(Drawing(DRAWS[what]), F.cross_entropy, *batch(), AndMask(0.5), "sequential")


class Lazily(nn.Module):
    """A layer whose table is made by the first pass, and is the same for all passes."""

    def __init__(self, kept: Any) -> None:
        super().__init__()
        self.layer, self.kept = nn.Linear(D, 2), kept

    def forward(self, x: Tensor) -> Tensor:
        if "table" not in self.kept:
            self.kept["table"] = torch.arange(2.0)
        result: Tensor = self.layer(x) + self.kept["table"]
        return result


def of_layers(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(D, D), *layers, nn.Linear(D, 2))


LEGITIMATE: dict[str, Callable[[], nn.Module]] = {
    "dropout": lambda: of_layers(nn.Dropout(0.5)),
    "BatchNorm": lambda: of_layers(nn.BatchNorm1d(D)),
    "the old weight_norm": lambda: of_layers(weight_norm(nn.Linear(D, D))),
    "the old spectral_norm": lambda: of_layers(spectral_norm(nn.Linear(D, D))),
    "the new spectral_norm": lambda: of_layers(nn.utils.parametrizations.spectral_norm(nn.Linear(D, D))),
    "a table in a dictionary": lambda: Lazily({}),
    "a table in a hidden place": lambda: Lazily(UserDict()),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
@pytest.mark.parametrize(
    ("what", "way"),
    [
        *[(what, "sequential") for what in LEGITIMATE],
        *[(what, "vectorized") for what in LEGITIMATE if "spectral" not in what],  # torch.func cannot map it.
    ],
)
def test_models_that_keep_nothing_of_an_environment_pass(what: str, way: str) -> None:
    model = LEGITIMATE[what]()
    for _ in range(2):
        backward(model, F.cross_entropy, *batch(), AndMask(0.5), way)


class Hooking(nn.Module):
    """Its first pass puts a hook on a layer, as transformers does to return hidden states."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.hooked = nn.Linear(4, 2), False

    def forward(self, x: Tensor) -> Tensor:
        if not self.hooked:
            self._hook(first=True)
        self.hooked = True
        return self.layer(x)  # type: ignore[no-any-return]

    def _hook(self, first: bool) -> None:
        def hook(*_: object) -> None:
            assert first

        self.layer.register_forward_hook(hook)


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_a_hook_that_the_first_pass_makes_has_its_own_remedy(way: str) -> None:
    model = Hooking()
    batch = torch.randn(3, 6, 4), torch.randn(3, 6, 2)
    with pytest.raises(UserError, match=r"as transformers does .* call the model once before training"):
        backward(model, F.mse_loss, *batch, AndMask(0.5), gradients=way)
    model(batch[0][0])
    assert backward(model, F.mse_loss, *batch, AndMask(0.5), gradients=way).risks.shape == (3,)


def test_a_loss_may_have_a_generator_of_its_own() -> None:
    generator, same = (torch.Generator().manual_seed(1) for _ in range(2))

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs + torch.rand(2, generator=generator), targets)

    backward(nn.Linear(D, 2), loss, *batch(), AndMask(0.5), "sequential")
    for _ in range(E):
        torch.rand(2, generator=same)
    assert torch.equal(generator.get_state(), same.get_state())


class Writing(nn.Module):
    """A network whose pass writes a trainable weight."""

    def __init__(self, write: Callable[[nn.Parameter, Tensor], Any]) -> None:
        super().__init__()
        self.a, self.b, self.write = nn.Linear(D, D), nn.Linear(D, 2), write

    def forward(self, x: Tensor) -> Tensor:
        self.write(self.a.weight, x)
        result: Tensor = self.b(self.a(x).tanh())
        return result


def replaced(p: nn.Parameter, x: Tensor) -> None:
    p.data = 0.7 * p.data


WRITES: dict[str, Callable[[nn.Parameter, Tensor], Any]] = {
    "shrunk": lambda p, x: p.data.mul_(0.7),
    "replaced": replaced,
    "copied from the examples": lambda p, x: p.data.copy_(x.detach().mean(0).expand(D, D)),
    "rows in another order": lambda p, x: p.data.copy_(p.data.roll(1, 0)),
}


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("what", WRITES)
def test_a_trainable_parameter_that_a_pass_writes_is_refused(what: str, way: str, aggregator: Any) -> None:
    model = Writing(WRITES[what])
    before = model.a.weight.detach().clone()
    with pytest.raises(
        UserError, match=r"changes the trainable parameter model\.a\.weight,.*optimizer\.step"
    ):
        backward(model, F.cross_entropy, *batch(), aggregator, way)
    assert torch.equal(model.a.weight, before)


def test_large_parameters_have_no_copy_and_the_refusal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_parameters, "_MOST_ELEMENTS", 8)
    with pytest.raises(UserError, match=r"model\.a\.weight,.*has moved it, because"):
        backward(Writing(WRITES["shrunk"]), F.cross_entropy, *batch(), AndMask(0.5), "sequential")


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_a_constraint_that_changes_nothing_the_second_time_is_no_harm(way: str) -> None:
    model = Writing(lambda p, x: p.data.clamp_(min=0))
    result = backward(model, F.cross_entropy, *batch(), AndMask(0.5), way)
    assert model.a.weight.min() >= 0
    expected = [F.cross_entropy(model(x), y) for x, y in zip(*batch(), strict=True)]
    torch.testing.assert_close(result.risks, torch.stack(expected).detach())


def test_an_embedding_may_shorten_its_rows() -> None:
    model = nn.Sequential(nn.Embedding(10, D, max_norm=0.5), nn.Linear(D, 2))
    words = torch.randint(0, 10, (E, N))
    backward(model, F.cross_entropy, words, torch.ones(E, N, dtype=torch.long), AndMask(0.5), "sequential")


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_a_batch_of_nan_does_not_answer(way: str, aggregator: Any) -> None:
    inputs, targets = batch()
    model = Centred(UserDict(c=Z), lambda kept: kept["c"], set_item)
    backward(model, F.cross_entropy, inputs * torch.nan, targets, aggregator, "sequential")
    model.place["c"] = Z
    with pytest.raises(UserError, match=ELSEWHERE):
        backward(model, F.cross_entropy, inputs, targets, aggregator, way)
