"""Votes per example for parameters of which no layer's rule says the votes, beside a plain loop."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import prune

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import backward, environment_gradients
from ilc.gradients._example_terms.outline import SHOWS_SHAPES
from ilc.gradients._trials.routes import _say_once, routes
from ilc.verification import verify

D, T, C = 6, 4, 3
WAYS = ("per_example", "per_example_share")


class Model(nn.Module):
    """A linear layer around a part that maps ``[N, T, D]`` to ``[N, T, D]``."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.first, self.part, self.last = nn.Linear(D, D), part, nn.Linear(D, C)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.part(self.first(x)).tanh().mean(1))
        return result


class Part(nn.Module):
    """Parameters of its own, used by a function."""

    def __init__(self, use: Callable[..., Tensor], *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.own = nn.ParameterList([nn.Parameter(torch.randn(shape) / 2) for shape in shapes])
        self.use = use

    def forward(self, x: Tensor) -> Tensor:
        return self.use(x, *self.own)


class Applied(nn.Module):
    """Modules of its own, used by a function."""

    def __init__(self, use: Callable[..., Tensor], *modules: nn.Module) -> None:
        super().__init__()
        self.own, self.use = nn.ModuleList(modules), use

    def forward(self, x: Tensor) -> Tensor:
        return self.use(x, *self.own)


def rms(x: Tensor) -> Tensor:
    return x * x.square().mean(-1, keepdim=True).add(1e-6).rsqrt()


def with_a_token(x: Tensor, token: Tensor) -> Tensor:
    return torch.cat([token.expand(len(x), -1, -1), x], 1)


def with_a_bias(x: Tensor, table: nn.Embedding) -> Tensor:
    """Relative positions: a bias of every pair of positions, the same for all examples."""
    where = torch.arange(x.shape[1])
    bias = table((where[:, None] - where[None]).abs()).permute(2, 0, 1)
    return (x @ x.mT + bias.sum(0)).softmax(-1) @ x


def dora(x: Tensor, a: Tensor, b: Tensor, size: Tensor) -> Tensor:
    """A frozen matrix plus a product of two, with rows of learned sizes."""
    whole = torch.eye(D, dtype=x.dtype) + b @ a
    return F.linear(x, size[:, None] * whole / whole.norm(dim=1, keepdim=True))


class Tied(nn.Module):
    """A table of words that is also the output layer, and other words before them."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.middle = nn.Embedding(C, D, padding_idx=0), nn.Linear(D, D)
        self.head = nn.Linear(D, C)
        self.head.weight = self.words.weight

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.words((x[..., 0].abs() * 9).long() % C)
        result: Tensor = self.head(self.middle(hidden).tanh().mean(1))
        return result


class TimeFirst(nn.Module):
    """Attention as older code writes it, ``[T, N, D]`` inside."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D, 2)

    def forward(self, x: Tensor) -> Tensor:
        turned = x.transpose(0, 1)
        result: Tensor = self.attention(turned, turned, turned)[0].transpose(0, 1)
        return result


PARTS: dict[str, Callable[[], nn.Module]] = {
    "a product without a module": lambda: Part(F.linear, (D, D), (D,)),
    "a matrix the other way round": lambda: Part(
        lambda x, w, b: torch.addmm(b, x.reshape(-1, D), w).view(x.shape), (D, D), (D,)
    ),
    "a scaled product": lambda: Part(
        lambda x, w, b: torch.addmm(b, x.reshape(-1, D), w, beta=0.5, alpha=-2).view(x.shape), (D, D), (D,)
    ),
    "a matrix for every head": lambda: Part(
        lambda x, w: torch.einsum("ntd,hdk->nthk", x, w).flatten(2), (2, D, D // 2)
    ),
    "time before examples": lambda: Part(
        lambda x, w: (x.transpose(0, 1) @ w).transpose(0, 1).contiguous(), (D, D)
    ),
    "rows in another order": lambda: Part(
        lambda x, w: (x.transpose(0, 1).reshape(-1, D) @ w).sin().view(T, -1, D).transpose(0, 1), (D, D)
    ),
    "a scale of a root mean square": lambda: Part(lambda x, w: w * rms(x), (D,)),
    "a scale around one": lambda: Part(lambda x, w: rms(x) * (1 + w), (D,)),
    "RMSNorm": lambda: nn.RMSNorm(D),
    "a scale of the input": lambda: Part(lambda x, w: x * w, (1, 1, D)),
    "a scale for each position": lambda: Part(lambda x, w: w * x, (T, 1)),
    "one number": lambda: Part(lambda x, w: w.exp() * x, ()),
    "a divisor": lambda: Part(lambda x, w: x / (2 + w.sigmoid()), (D,)),
    "a shift that is taken away": lambda: Part(lambda x, w: torch.sub(x, w, alpha=3), (T, D)),
    "a shift with a factor": lambda: Part(lambda x, w: torch.add(x, w, alpha=-3), (T, D)),
    "a token before the others": lambda: Part(with_a_token, (1, 1, D)),
    "positions": lambda: Part(lambda x, w: x + w[: x.shape[1]], (T + 2, D)),
    "positions from a table": lambda: Applied(lambda x, t: x + t(torch.arange(T)[None]), nn.Embedding(T, D)),
    "relative positions": lambda: Applied(with_a_bias, nn.Embedding(T, 2)),
    "a layer used twice": lambda: Applied(lambda x, f: f(f(x).tanh()), nn.Linear(D, D)),
    "a norm used twice": lambda: Applied(lambda x, f: f(f(x).tanh()), nn.LayerNorm(D)),
    "a convolution used twice": lambda: Applied(
        lambda x, f: f(f(x.mT).tanh()).mT, nn.Conv1d(D, D, 3, padding=1)
    ),
    "a layer that is used beside its call": lambda: Applied(
        lambda x, f: f(x) @ f.weight + f.bias, nn.Linear(D, D)
    ),
    "a layer called by keyword": lambda: Applied(lambda x, f: f(input=x), nn.Linear(D, D)),
    "attention": lambda: Applied(
        lambda x, f: f(x, x, x, need_weights=False)[0], nn.MultiheadAttention(D, 2, batch_first=True)
    ),
    "attention to other values": lambda: Applied(
        lambda x, f: f(x, x.tanh(), x.sin())[0], nn.MultiheadAttention(D, 2, batch_first=True)
    ),
    "attention with time first": TimeFirst,
    "products of two small matrices": lambda: Part(
        lambda x, a, b: x + F.linear(F.linear(x, a), b), (2, D), (D, 2)
    ),
    "a product of parameters": lambda: Part(lambda x, a, b: F.linear(x, b @ a), (2, D), (D, 2)),
    "directions and sizes": lambda: Part(dora, (2, D), (D, 2), (D,)),
    "weight norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(D, D)),
    "cells": lambda: Applied(lambda x, f: torch.stack([f(x[:, t]) for t in range(T)], 1), nn.GRUCell(D, D)),
    "PReLU": lambda: nn.PReLU(D // 2 - 2),
}


JOINED = ("rows in another order", "a matrix for every head")
"""Where an axis joins examples and positions, and nothing shows in which order."""


def make(kind: str) -> nn.Module:
    torch.manual_seed(1)
    return (Tied() if kind == "tied" else Model(PARTS[kind]())).double()


def batch(n: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(n, 1, T, D, generator=random, dtype=torch.float64)
    return inputs, torch.randint(0, C, (n, 1), generator=random)


# As many examples as positions, or another number.
@pytest.mark.parametrize(("way", "n"), [("per_example", T), ("per_example_share", 5)])
@pytest.mark.parametrize("kind", [*PARTS, "tied"])
def test_equal_to_a_plain_loop(kind: str, way: str, n: int, same_as_loop: Callable[..., None]) -> None:
    model = make(kind)
    for _ in range(2):  # What the first step found out serves the second.
        same_as_loop(model, F.cross_entropy, *batch(n), way)
    if SHOWS_SHAPES:
        passes = routes(model, F.cross_entropy).passes
        assert passes == ({"part.own.0"} if kind in JOINED else set())


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["positions from a table", "attention with time first", "tied"])
def test_few_examples(kind: str, n: int, same_as_loop: Callable[..., None]) -> None:
    same_as_loop(make(kind), F.cross_entropy, *batch(n), "per_example")


MADE_OF_OTHERS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "pruned": lambda layer: prune.random_unstructured(layer, "weight", 0.5),
    "old weight norm": nn.utils.weight_norm,
    "old spectral norm": nn.utils.spectral_norm,
}


@pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated")
@pytest.mark.parametrize("kind", MADE_OF_OTHERS)
@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_a_layer_of_a_known_class_whose_weight_is_made_of_other_parameters(way: str, kind: str) -> None:
    torch.manual_seed(1)
    model = Model(MADE_OF_OTHERS[kind](nn.Linear(D, D))).double().eval()
    found = environment_gradients(model, F.cross_entropy, *batch(5), AndMask(0.5), way)
    exact = environment_gradients(model, F.cross_entropy, *batch(5), AndMask(0.5), "per_example_loss")
    for name, one in exact.statistics.items():
        torch.testing.assert_close(found.statistics[name].total, one.total, msg=name)
        assert torch.equal(found.statistics[name].sign_sum, one.sign_sum), name


class Squares(AndMask):
    """A mask that asks for the sums of squares too."""

    sums_on_request = ("square_sum",)


@pytest.mark.parametrize("way", WAYS)
def test_sums_on_request(way: str) -> None:
    """Sums of squares need the sum over all uses of an example before the square."""
    inputs, targets = batch(5)
    for kind in ("tied", "a layer used twice", "products of two small matrices"):
        one, other = (
            environment_gradients(make(kind), F.cross_entropy, inputs, targets, Squares(0.5), each).statistics
            for each in (way, "per_example_loss")
        )
        for name, ours in one.items():
            assert ours.square_sum is not None and other[name].square_sum is not None
            torch.testing.assert_close(ours.square_sum, other[name].square_sum)


class Below(nn.Module):
    """A BatchNorm above a layer whose weight is used elsewhere too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.last = nn.Linear(D, D), nn.BatchNorm1d(D), nn.Linear(D, C)

    def forward(self, x: Tensor) -> Tensor:
        x = x.mean(1)
        result: Tensor = self.last(self.norm(self.layer(x)).tanh() + F.linear(x, self.layer.weight))
        return result


def test_such_a_layer_below_batch_norm_is_refused() -> None:
    with pytest.raises(UserError, match=r"layer.*use gradients='per_example_loss'"):
        backward(Below().double(), F.cross_entropy, *batch(5), AndMask(0.5), "per_example")


def test_a_backward_pass_for_each_example_follows_batch_statistics_one_layer_too() -> None:
    torch.manual_seed(3)
    model = nn.Sequential(
        nn.PReLU(), nn.Conv1d(T, 2, 1), nn.BatchNorm1d(2), nn.Tanh(), nn.Flatten(), nn.Linear(2 * D, C)
    ).double()
    inputs, targets = batch(6)
    routes(model, F.cross_entropy).need_passes(["0.weight"], "this test says so")
    assert verify(model, F.cross_entropy, inputs, targets, AndMask(0.5), gradients="per_example").right
    assert routes(model, F.cross_entropy).passes == {"0.weight"}


def test_a_backward_pass_for_each_example_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    _say_once.cache_clear()
    model = make("rows in another order")
    for _ in range(2):
        backward(model, F.cross_entropy, *batch(5), AndMask(0.5), "per_example")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "for each example" in line]
    assert line.startswith("ilc: a backward pass for each example gives the votes for part.own.0, as ")


class Bags(nn.Module):
    """Bags of words, of which the mean over the batch is taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = nn.EmbeddingBag(3, D, mode="mean"), nn.Linear(D, C)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.table(x)
        result: Tensor = self.last(hidden - hidden.mean(0))
        return result


@pytest.mark.parametrize("way", WAYS)
def test_examples_that_differ_and_have_equal_gradients_show_nothing(way: str) -> None:
    torch.manual_seed(1)
    model = Bags().double()
    inputs = torch.tensor([[0, 1, 1], [2, 2, 0], [1, 1, 2], [0, 0, 2], [1, 0, 1]])[:, None]
    arguments = (model, F.cross_entropy, inputs, torch.zeros(5, 1, dtype=torch.long), AndMask(0.5))
    exact = environment_gradients(*arguments, "per_example_loss").statistics
    try:
        found = environment_gradients(*arguments, way).statistics
    except UserError as error:
        assert "mixes the examples" in str(error)
        return
    for name, ours in found.items():
        assert torch.equal(ours.sign_sum, exact[name].sign_sum), name


def test_a_hook_that_changes_an_output(same_as_loop: Callable[..., None]) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(T * D, 5), nn.Tanh(), nn.Linear(5, C)).double()
    model[1].register_forward_hook(lambda layer, arguments, output: output * layer.weight.sum())
    for way in WAYS:
        same_as_loop(model, F.cross_entropy, *batch(5), way)


@pytest.mark.slow
def test_nothing_is_left_behind() -> None:
    model, (inputs, targets) = make("tied"), batch(5)

    def tensors() -> int:
        while gc.collect():
            pass
        return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())

    backward(model, F.cross_entropy, inputs, targets, AndMask(0.5), "per_example")
    alive = tensors()
    for _ in range(3):
        backward(model, F.cross_entropy, inputs, targets, AndMask(0.5), "per_example")
    assert tensors() == alive
