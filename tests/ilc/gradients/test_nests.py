"""Batches as they come: dictionaries, tuples, objects and losses, against a plain loop over environments."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import verify
from ilc.aggregators import AndMask, Mean, VRex
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, backward
from ilc.gradients._trials import choose_way
from ilc.gradients._ways.by_layers import known_answers

WORDS, WIDTH, CLASSES, E, N, T = 7, 6, 3, 4, 5, 8


class Reader(nn.Module):
    """A small language model with the habits of large ones: names, a mask, None, a loss in its output."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(
        self, ids: Tensor, mask: Tensor, labels: Tensor | None = None, *, extra: None = None, kind: str
    ) -> Any:
        assert extra is None and kind == "mean"
        weights = mask.to(self.head.weight.dtype)
        mean = (self.embedding(ids) * weights[..., None]).sum(1) / weights.sum(1, keepdim=True)
        logits = self.head(torch.tanh(self.hidden(mean)))
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SimpleNamespace(loss=loss, logits=logits)


class Rows(Reader):
    """The same with a dictionary as output, which can be divided into rows."""

    def forward(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        return vars(super().forward(*arguments, **keywords))


def make(kind: type[nn.Module] = Reader) -> nn.Module:
    torch.manual_seed(1)
    return kind().double()


def environment(n: int, length: int, seed: int, labels: bool = True) -> dict[str, Any]:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, length + 1, (n, 1), generator=random)
    batch: dict[str, Any] = {
        "ids": torch.randint(0, WORDS, (n, length), generator=random),
        "mask": (torch.arange(length) < lengths).long(),
        "extra": None,
        "kind": "mean",
    }
    return batch | ({"labels": torch.randint(0, CLASSES, (n,), generator=random)} if labels else {})


def together(batches: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        key: torch.stack([one[key] for one in batches]) if isinstance(value, Tensor) else value
        for key, value in batches[0].items()
    }


def loop(losses: list[Tensor], model: nn.Module) -> list[Tensor]:
    """The gradients ``[E, ...]`` of each parameter."""
    parameters = list(model.parameters())
    rows = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def assert_update(model: nn.Module, rows: list[Tensor], aggregator: Any) -> None:
    for p, column in zip(model.parameters(), rows, strict=True):
        assert p.grad is not None
        torch.testing.assert_close(p.grad, aggregator(column))
        assert torch.equal(p.grad == 0, aggregator(column) == 0)
    model.zero_grad()


def of_output(outputs: Any) -> Tensor:
    return outputs.loss


UNEQUAL = [environment(n, t, seed) for seed, (n, t) in enumerate([(5, 8), (3, 4), (5, 8), (1, 6)])]
EQUAL = [environment(N, T, seed) for seed in range(E)]
GIVEN: dict[str, tuple[list[dict[str, Any]], Callable[[list[dict[str, Any]]], Any]]] = {
    "unequal": (UNEQUAL, list),
    "equal": (EQUAL, list),
    "one nest": (EQUAL, together),
    "a mapping": (EQUAL, lambda batches: UserDict(together(batches))),
    "mappings in another order": (UNEQUAL, lambda b: [UserDict(reversed(one.items())) for one in b]),
}


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("aggregator", [Mean(), AndMask(0.6)], ids=["mean", "mask"])
@pytest.mark.parametrize("given", GIVEN)
def test_dictionaries_are_arguments_by_name(given: str, aggregator: Any, way: str) -> None:
    batches, form = GIVEN[given]
    model = make()
    losses = [model(**one).loss for one in batches]
    result = backward(model, of_output, form(batches), aggregator=aggregator, gradients=way)
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    assert_update(model, loop(losses, model), aggregator)


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_tuples_are_arguments_by_place_and_targets_go_to_the_loss_as_they_are(way: str) -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(3, 2), nn.Linear(4, 2)

        def forward(self, x: Tensor, more: tuple[Tensor, None]) -> tuple[Tensor, Tensor]:
            assert more[1] is None
            return self.one(x), self.other(more[0])

    def loss_fn(outputs: tuple[Tensor, Tensor], targets: dict[str, Tensor]) -> Tensor:
        return (outputs[0] - targets["y"]).square().mean() + (outputs[1] - targets["z"]).abs().mean()

    model = make(Pair)
    x, more, y, z = (torch.randn(2, N, width, dtype=torch.float64) for width in (3, 4, 2, 2))
    losses = [loss_fn(model(x[e], (more[e], None)), {"y": y[e], "z": z[e]}) for e in range(2)]
    # E is two, and so is the length of the tuple: it is not taken for two environments.
    backward(model, loss_fn, (x, (more, None)), {"y": y, "z": z}, AndMask(1.0), way)
    assert_update(model, loop(losses, model), AndMask(1.0))
    lists = [(x[e], (more[e], None)) for e in range(2)], [{"y": y[e], "z": z[e]} for e in range(2)]
    backward(model, loss_fn, *lists, AndMask(1.0), way)
    assert_update(model, loop(losses, model), AndMask(1.0))


class Parts(nn.Module):
    """Joins its inputs, and gives its outputs, in the order of the dictionaries that it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.size, self.age = nn.Linear(5, 2), nn.Linear(5, 2)

    def forward(self, **parts: Tensor) -> dict[str, Tensor]:
        joined = torch.cat(list(parts.values()), -1)
        return {"size": self.size(joined), "age": self.age(joined)}


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("as_list", [False, True])
def test_dictionaries_keep_their_order(as_list: bool, way: str) -> None:
    """Neither order is that of the alphabet."""

    def loss_fn(outputs: dict[str, Tensor], targets: dict[str, Tensor]) -> Tensor:
        pairs = zip(outputs.values(), targets.values(), strict=True)
        return torch.stack([(out - target).square().mean() for out, target in pairs]).sum()

    model = make(Parts)
    inputs = [{"z": torch.randn(N, 3).double(), "a": torch.randn(N, 2).double()} for _ in range(E)]
    targets = [{"size": torch.randn(N, 2).double(), "age": 5 + torch.randn(N, 2).double()} for _ in range(E)]
    losses = [loss_fn(model(**x), y) for x, y in zip(inputs, targets, strict=True)]
    batch = (inputs, targets) if as_list else (together(inputs), together(targets))
    result = backward(model, loss_fn, *batch, AndMask(0.6), way)
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    assert_update(model, loop(losses, model), AndMask(0.6))


@dataclass
class Graph:
    """Nodes ``[n, 3]`` and edges between them, as libraries for graphs have them."""

    nodes: Tensor
    edges: Tensor


class Messages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, graph: Graph) -> Tensor:
        source, target = graph.edges
        sums = torch.zeros_like(graph.nodes).index_add(0, target, graph.nodes[source])
        return torch.tanh(self.layer(sums)).sum(0)


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_objects_and_graphs_pass_through(way: str) -> None:
    torch.manual_seed(0)
    graphs = [
        Graph(torch.randn(n, 3, dtype=torch.float64), torch.randint(0, n, (2, 2 * n))) for n in (4, 6, 4)
    ]
    model = make(Messages)
    losses = [model(graph).square().sum() for graph in graphs]
    result = backward(model, lambda out: out.square().sum(), graphs, aggregator=AndMask(0.4), gradients=way)
    assert_update(model, loop(losses, model), AndMask(0.4))
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], dtype=torch.float64)
    losses = [F.mse_loss(model(graph), target) for graph, target in zip(graphs, targets, strict=True)]
    backward(model, F.mse_loss, graphs, targets, AndMask(0.4), way)
    assert_update(model, loop(losses, model), AndMask(0.4))


def normed() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()


def contrastive(model: nn.Module, x: Tensor) -> Tensor:
    """A self-supervised loss: two views of one batch."""
    return (model(x) - model(x + 0.1)).square().mean() + model(x).mean().square()


def test_functions_stand_for_loss_and_batch() -> None:
    torch.manual_seed(0)
    batches = [torch.randn(n, 3, dtype=torch.float64) for n in (4, 6, 3)]
    model, rows, buffers, risks = normed(), [], [], []
    for x in batches:
        plain = normed()
        loss = contrastive(plain, x)
        rows.append(torch.autograd.grad(loss, list(plain.parameters())))
        risks.append(loss.detach())
        buffers.append(list(plain.buffers()))
    result = backward(model, [lambda x=x: contrastive(model, x) for x in batches], aggregator=AndMask(0.6))
    assert_update(model, [torch.stack(column) for column in zip(*rows, strict=True)], AndMask(0.6))
    torch.testing.assert_close(result.risks, torch.stack(risks))
    for b, values in zip(model.buffers(), zip(*buffers, strict=True), strict=True):
        torch.testing.assert_close(b.double(), torch.stack(values).double().mean(0))


def test_losses_may_share_their_graph() -> None:
    torch.manual_seed(0)
    model = normed()
    features = model[:2](torch.randn(8, 3, dtype=torch.float64))
    losses = [model[2](features[half]).square().mean() for half in (slice(0, 4), slice(4, 8))]
    rows = loop(losses, model)
    moved = [b.clone() for b in model.buffers()]
    result = backward(model, losses, aggregator=AndMask(1.0))
    assert_update(model, rows, AndMask(1.0))
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    assert all(map(torch.equal, model.buffers(), moved))


def cross_entropy_of_logits(outputs: Any, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs["logits"], labels)


@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_a_mask_per_example_gives_the_votes_of_examples_without_padding(way: str) -> None:
    model = make(Rows)
    batch = environment(9, T, seed=5)
    labels = batch.pop("labels")
    losses = []
    for i in range(9):
        length = int(batch["mask"][i].sum())
        own = {key: v[i : i + 1, :length] if isinstance(v, Tensor) else v for key, v in batch.items()}
        losses.append(F.cross_entropy(model(**own)["logits"], labels[i : i + 1]))
    rows, calls = loop(losses, model), []
    nest = {key: v.unsqueeze(1) if isinstance(v, Tensor) else v for key, v in batch.items()}

    def risk(outputs: Any, y: Tensor) -> Tensor:
        calls.append(outputs["logits"].shape)
        return cross_entropy_of_logits(outputs, y)

    result = backward(model, risk, nest, labels.unsqueeze(1), AndMask(0.3), way)
    assert set(calls) == {(1, CLASSES)} and len(calls) < 20  # By vmap, not one example after another.
    assert_update(model, rows, AndMask(0.3))
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    found = verify(model, cross_entropy_of_logits, nest, labels.unsqueeze(1), AndMask(0.3), way)
    assert set(found.ways.values()) == {"right"}
    # The same examples, an environment in each entry of a list.
    lists = (
        [{key: v[i] if isinstance(v, Tensor) else v for key, v in nest.items()} for i in range(9)],
        list(labels.unsqueeze(1)),
    )
    backward(model, cross_entropy_of_logits, *lists, AndMask(0.3), way)
    assert_update(model, rows, AndMask(0.3))


@pytest.mark.parametrize("given", ["unequal", "one nest"])
def test_verify_takes_the_same_batches(given: str) -> None:
    batches, form = GIVEN[given]
    found = verify(make(), of_output, form(batches), aggregator=AndMask(0.6))
    assert found.right and set(found.ways.values()) == {"right"}


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_joint_aggregators_take_the_same_batches(way: str) -> None:
    model = make()
    risks = torch.stack([model(**one).loss for one in EQUAL])
    expected = torch.autograd.grad(risks.mean() + 2 * risks.var(correction=0), list(model.parameters()))
    backward(model, of_output, together(EQUAL), aggregator=VRex(2.0), gradients=way)
    for p, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, gradient)


def test_pooled_takes_a_nest() -> None:
    model = make()
    flat = {k: v.flatten(0, 1) if isinstance(v, Tensor) else v for k, v in together(EQUAL).items()}
    backward(model, of_output, together(EQUAL), aggregator=Mean(), gradients="pooled")
    assert_update(model, loop([model(**flat).loss], model), Mean())


class Scores(Reader):
    """The same with one tensor as output, so that its layers can be gone through for all environments."""

    def forward(self, *arguments: Any, **keywords: Any) -> Tensor:
        logits: Tensor = super().forward(*arguments, **keywords).logits
        return logits


def test_a_nest_goes_layer_by_layer_where_a_tensor_would() -> None:
    model = make(Scores)
    batches = [environment(N, T, seed) for seed in range(E)]
    labels = [one.pop("labels") for one in batches]
    losses = [F.cross_entropy(model(**x), y) for x, y in zip(batches, labels, strict=True)]
    backward(model, F.cross_entropy, together(batches), torch.stack(labels), AndMask(0.6))
    assert known_answers(model) == {0: True}
    assert_update(model, loop(losses, model), AndMask(0.6))


@pytest.mark.parametrize("kind", ["can", "cannot"])
def test_torch_func_takes_a_nest_where_it_can(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    class Branching(Scores):
        def forward(self, *arguments: Any, **keywords: Any) -> Tensor:
            logits = super().forward(*arguments, **keywords)
            return logits if kind == "can" or bool(keywords["mask"].any()) else logits.detach()

    choose_way._say_once.cache_clear()
    model = make(Branching)
    batches = [environment(N, T, seed) for seed in range(E)]
    labels = [one.pop("labels") for one in batches]
    losses = [F.cross_entropy(model(**x), y) for x, y in zip(batches, labels, strict=True)]
    model.head.register_forward_hook(lambda layer, arguments, output: output + 0 * output.mean(0))
    backward(model, F.cross_entropy, batches, labels, AndMask(0.6))
    assert ("torch.func cannot follow the model" in capsys.readouterr().out) == (kind == "cannot")
    assert_update(model, loop(losses, model), AndMask(0.6))


class WithAuxiliary(nn.Module):
    """Logits of each example, and a loss of all examples beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.head(x)
        return logits, logits.softmax(-1).mean(0).square().sum()


@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_an_auxiliary_loss_of_all_examples_is_named(way: str) -> None:
    def risk(outputs: Any, y: Tensor) -> Tensor:
        return F.cross_entropy(outputs[0], y) + 0.1 * outputs[1]

    model, batch = WithAuxiliary(), (torch.randn(6, 1, 4), torch.randint(0, 3, (6, 1)))
    with pytest.raises(UserError, match="without a row for each example, such as an auxiliary loss") as error:
        backward(model, risk, *batch, AndMask(0.2), gradients=way)
    assert "use gradients='sequential'" in str(error.value)
    backward(model, risk, *batch, AndMask(0.2), gradients="sequential")
