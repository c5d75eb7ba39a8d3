"""What a pass leaves in the model: buffers end as the mean, what else would reach the next is refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import backward
from ilc.gradients._trials import state_between_environments
from ilc.gradients._trials.held_state import ModuleState

E, N, D = 3, 4, 5
WAYS = [("vectorized", AndMask(0.5)), ("vectorized", Mean()), ("sequential", AndMask(0.5))]


def batch() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, N, D, generator=random) + torch.arange(E).view(E, 1, 1)
    return inputs, torch.randint(0, 2, (E, N), generator=random)


class Remembering(nn.Module):
    """A linear layer that also does something else with its output."""

    def __init__(self, forward: Callable[[Any, Tensor], Tensor], **attributes: Any) -> None:
        super().__init__()
        self.layer, self.rule = nn.Linear(D, 2), forward
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        return self.rule(self, self.layer(x))


def counting(self: Any, y: Tensor) -> Tensor:
    self.calls += 1
    return y


def carrying(self: Any, y: Tensor) -> Tensor:
    result = y * (1 + self.last)
    self.last = y.detach().mean()
    return result


def in_place(self: Any, y: Tensor) -> Tensor:
    self.sums += 1
    return y


def first_batch_normalised(self: Any, y: Tensor) -> Tensor:
    if self.center is None:
        self.center = y.detach().mean(0)
    return y - self.center


def appending(self: Any, y: Tensor) -> Tensor:
    self.history["all"].append(1)
    return y


class Meter:
    def __init__(self) -> None:
        self.total = 0.0


def metering(self: Any, y: Tensor) -> Tensor:
    self.meter.total += 1.0
    return y


CARRYING: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "a counter": (lambda: Remembering(counting, calls=0), r"model\.calls"),
    "the last output": (lambda: Remembering(carrying, last=torch.zeros(())), r"model\.last"),
    "a tensor in place": (lambda: Remembering(in_place, sums=torch.zeros(2)), r"model\.sums"),
    "the first batch": (lambda: Remembering(first_batch_normalised, center=None), r"model\.center"),
    "a list in a dictionary": (
        lambda: Remembering(appending, history={"all": []}),
        r"model\.history\['all'\]",
    ),
    "a user's object": (lambda: Remembering(metering, meter=Meter()), r"model\.meter\.total"),
    "a layer within": (lambda: nn.Sequential(Remembering(counting, calls=0)), r"model\.0\.calls"),
}


def with_counting_hook() -> tuple[nn.Module, list[int]]:
    model, seen = nn.Sequential(nn.Linear(D, 2)), [0]

    def hook(layer: nn.Module, arguments: Any, output: Tensor) -> None:
        seen[0] += 1

    model[0].register_forward_hook(hook)
    return model, seen


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("what", CARRYING)
def test_what_reaches_the_next_environment_is_refused_by_name(what: str, way: str, aggregator: Any) -> None:
    make, name = CARRYING[what]
    model = make()
    before = ModuleState(model)
    with pytest.raises(UserError, match=f"changes {name}[^ ]*,.*register_buffer") as error:
        backward(model, F.cross_entropy, *batch(), aggregator, way)
    assert "\n" not in str(error.value)
    assert not [change for change in before.changes() if "sums" not in change]
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_what_hooks_remember_is_looked_at_too(way: str, aggregator: Any) -> None:
    model, seen = with_counting_hook()
    with pytest.raises(UserError, match=r"changes model\.0\._forward_hooks"):
        backward(model, F.cross_entropy, *batch(), aggregator, way)
    assert seen == [0]


@pytest.mark.parametrize("way", ["pooled", "per_example", "per_example_loss"])
def test_where_all_share_one_pass_nothing_can_leak(way: str) -> None:
    inputs, targets = batch()
    model = Remembering(counting, calls=0)
    few = (inputs, targets) if way == "pooled" else (inputs.view(-1, 1, D), targets.view(-1, 1))
    backward(model, F.cross_entropy, *few, Mean() if way == "pooled" else AndMask(0.5), way)


def keeping_features(self: Any, y: Tensor) -> Tensor:
    self.features = y.detach()
    return y


def with_a_table(self: Any, y: Tensor) -> Tensor:
    if self.table is None:
        self.table = torch.arange(2.0)
    return y + self.table


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("rule", [keeping_features, with_a_table])
def test_what_no_pass_reads_of_another_is_no_harm(rule: Any, way: str, aggregator: Any) -> None:
    inputs, targets = batch()
    model = Remembering(rule, features=None, table=None)
    for _ in range(2):
        result = backward(model, F.cross_entropy, inputs, targets, aggregator, way)
        expected = [F.cross_entropy(model(x), y) for x, y in zip(inputs, targets, strict=True)]
        torch.testing.assert_close(result.risks, torch.stack(expected).detach())
        backward(model, F.cross_entropy, inputs, targets, aggregator, way)
        # Sequential passes leave what plain ones do, vectorized ones leave nothing of their own.
        left = model.features if rule is keeping_features else model.table
        assert left is None or left.tolist() is not None


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_buffers_that_move_in_evaluation_mode_are_refused(way: str, aggregator: Any) -> None:
    model = Remembering(lambda self, y: y)
    model.register_buffer("mean", torch.zeros(2))

    def rule(self: Any, y: Tensor) -> Tensor:
        self.mean = 0.5 * self.mean + y.detach().mean(0)
        return y - self.mean

    model.rule = rule
    backward(model, F.cross_entropy, *batch(), aggregator, way)
    moved = model.mean.clone()
    assert moved.ne(0).all()
    with pytest.raises(UserError, match=r"changes model\.mean in evaluation mode.*model\.train\(\)"):
        backward(model.eval(), F.cross_entropy, *batch(), aggregator, way)
    assert torch.equal(model.mean, moved)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_a_buffer_of_another_shape_is_refused(way: str, aggregator: Any) -> None:
    def growing(self: Any, y: Tensor) -> Tensor:
        self.rows = torch.cat([self.rows, y.detach().mean(0, keepdim=True)])
        return y

    model = Remembering(growing)
    model.register_buffer("rows", torch.zeros(1, 2))
    with pytest.raises(UserError, match="changes the shape of the buffer rows"):
        backward(model, F.cross_entropy, *batch(), aggregator, way)


def test_random_numbers_and_later_steps_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is looked at once per mode; what it draws is what it would draw."""
    looked = []
    monkeypatch.setattr(
        state_between_environments,
        "ModuleState",
        lambda model, **options: looked.append(model.training) or ModuleState(model, **options),
    )
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(D, 2))
    inputs, targets = batch()
    torch.manual_seed(1)
    expected = [float(F.cross_entropy(model(x), y).detach()) for x, y in zip(inputs, targets, strict=True)]
    torch.manual_seed(1)
    result = backward(model, F.cross_entropy, inputs, targets, Mean(), "sequential")
    assert result.risks.tolist() == pytest.approx(expected)
    for way in ("vectorized", "sequential"):
        backward(model, F.cross_entropy, inputs, targets, Mean(), way)
    assert looked == [True]
    backward(model.eval(), F.cross_entropy, inputs, targets, Mean(), "sequential")
    assert looked == [True, False]


def test_memory_puts_everything_back() -> None:
    model = Remembering(
        lambda self, y: y, names=deque(["a"]), kinds={1}, pair=(1, [2]), table={"x": torch.ones(2)}
    )
    memory = ModuleState(model)
    assert not memory.changes()
    model.names.append("b")
    model.kinds.add(2)
    model.pair[1].append(3)
    model.table["x"].add_(1)
    model.new = 1
    assert {change.partition("[")[0] for change in memory.changes()} == {
        "names",
        "kinds",
        "pair",
        "table",
        "new",
    }
    memory.restore()
    assert (list(model.names), model.kinds, model.pair) == (["a"], {1}, (1, [2]))
    assert model.table["x"].tolist() == [1, 1] and not hasattr(model, "new")


def centred_after_the_last(self: Any, y: Tensor) -> Tensor:
    result = (y + self.last).tanh()
    self.last = y.detach().mean()
    return result - result.mean(0)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_what_one_example_hides_is_looked_for_again(way: str, aggregator: Any) -> None:
    model = Remembering(centred_after_the_last, last=0.0)
    inputs, targets = batch()
    backward(model, F.cross_entropy, inputs[:, :1], targets[:, :1], aggregator, way)
    model.last = 0.0
    with pytest.raises(UserError, match=r"changes model\.last"):
        backward(model, F.cross_entropy, inputs, targets, aggregator, way)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("scale", [1e-3, 1e-6])
def test_what_hardly_reaches_the_next_is_refused(scale: float, way: str, aggregator: Any) -> None:
    def hardly(self: Any, y: Tensor) -> Tensor:
        result = y + scale * self.last
        self.last = y.detach().mean()
        return result * torch.tensor([1.0, -1.0])

    model = Remembering(hardly, last=0.0).double()
    inputs, targets = batch()
    with pytest.raises(UserError, match=r"changes model\.last"):
        backward(model, F.cross_entropy, inputs.double(), targets, aggregator, way)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_a_batch_of_nan_decides_nothing(way: str, aggregator: Any) -> None:
    inputs, targets = batch()
    harmless = Remembering(keeping_features, features=None)
    backward(harmless, F.cross_entropy, inputs * torch.nan, targets, aggregator, way)
    harmful = Remembering(carrying, last=0.0)
    backward(harmful, F.cross_entropy, inputs * torch.nan, targets, aggregator, way)
    harmful.last = 0.0
    with pytest.raises(UserError, match=r"changes model\.last"):
        backward(harmful, F.cross_entropy, inputs, targets, aggregator, way)
