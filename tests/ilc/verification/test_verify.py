"""``ilc.verify``: right where a way is right, loud where it is not, and nothing of the user's moves."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ilc
from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean, SandMask, SignElection, VRex
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, EnvironmentGradients, sequential
from ilc.verification._rounding import Rounding

E, N, D, C = 4, 6, 5, 3


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 8), nn.Tanh(), nn.Linear(8, C))


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, C))


def with_dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 8), nn.Dropout(0.4), nn.Linear(8, C))


def batch(way: str = "vectorized") -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(0)
    inputs, targets = torch.randn(E, N, D, generator=g), torch.randint(0, C, (E, N), generator=g)
    if way in PER_EXAMPLE:
        return inputs.view(E * N, 1, D), targets.view(E * N, 1)
    return inputs, targets


@pytest.mark.parametrize("make", [perceptron, normalised])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_right_for_plain_models(way: str, make: Callable[[], nn.Module]) -> None:
    found = ilc.verify(make(), F.cross_entropy, *batch(way), Mean() if way == "pooled" else AndMask(0.8), way)
    assert found.right and found.gradients == way
    assert set(found.ways.values()) == {"right"}
    assert {one.name for one in found.parameters} == {name for name, _ in make().named_parameters()}
    assert all(one.right and one.sum_error == 0 for one in found.parameters)
    if way not in ("pooled", "per_example_share"):
        assert sum(one.votes for one in found.parameters) > 0


def test_environments_of_different_sizes() -> None:
    inputs = [torch.randn(n, D) for n in (2, 5, 5)]
    targets = [torch.zeros(len(x), dtype=torch.long) for x in inputs]
    assert ilc.verify(perceptron(), F.cross_entropy, inputs, targets, GeometricMean(0.5)).right


def changed(change: Callable[[EnvironmentGradients], None]) -> Callable[..., EnvironmentGradients]:
    def way(*arguments: Any, **options: Any) -> EnvironmentGradients:
        found = sequential(*arguments, **options)
        change(found)
        return found

    return way


def votes(found: EnvironmentGradients) -> None:
    found.statistics["2.weight"].sign_sum[0, 0] *= -1
    found.statistics["2.weight"].sign_sum[0, 0] -= 2


def sums(found: EnvironmentGradients) -> None:
    found.statistics["0.bias"].total += 0.1


def left_out(found: EnvironmentGradients) -> None:
    del found.statistics["2.bias"]


def not_finite(found: EnvironmentGradients) -> None:
    found.statistics["0.bias"].total[1] = torch.nan


def risks(found: EnvironmentGradients) -> None:
    found.risks.mul_(1.5)


WRONG: dict[str, tuple[Callable[[EnvironmentGradients], None], str]] = {
    "a vote": (votes, "2.weight"),
    "a sum": (sums, "0.bias"),
    "a parameter left out": (left_out, "2.bias"),
    "a sum that is not finite": (not_finite, "0.bias"),
}


@pytest.mark.parametrize("what", WRONG)
def test_one_wrong_number_is_found_and_named(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, name = WRONG[what]
    monkeypatch.setitem(WAYS, "vectorized", changed(change))
    found = ilc.verify(perceptron(), F.cross_entropy, *batch(), AndMask(0.8))
    assert not found.right
    assert [one.name for one in found.parameters if not one.right] == [name]
    assert found.ways == {"vectorized": f"wrong in 1 of 4 parameters ({name})", "sequential": "right"}


def test_a_wrong_risk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WAYS, "vectorized", changed(risks))
    found = ilc.verify(perceptron(), F.cross_entropy, *batch(), AndMask(0.8))
    assert found.ways["vectorized"].startswith("the risks are wrong by 5.0e-01")
    assert not found.right and found.risks_error == pytest.approx(0.5)


@pytest.mark.parametrize("constant", [torch.inf, -torch.inf, torch.nan])
def test_a_risk_that_the_loop_also_has_is_right_where_it_is_not_finite(constant: float) -> None:
    found = ilc.verify(perceptron(), lambda z, y: F.cross_entropy(z, y) + constant, *batch(), AndMask(0.8))
    assert found.right and found.risks_error == 0


def test_it_prints_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WAYS, "vectorized", changed(votes))
    lines = str(ilc.verify(perceptron(), F.cross_entropy, *batch(), AndMask(0.8))).splitlines()
    assert lines[0].split("  ")[0] == "parameter" and len({len(line) for line in lines[:5]}) == 1
    assert lines[3].split() == ["2.weight", "24", "24", "1", "rounding"]
    assert lines[5:] == ["vectorized: wrong in 1 of 4 parameters (2.weight)", "sequential: right"]


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(D, C)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)
        return outputs if float(outputs.sum()) > 0 else -2 * outputs


def test_a_refusal_is_an_answer_beside_the_way_that_works() -> None:
    found = ilc.verify(Branching(), F.cross_entropy, *batch(), AndMask(0.8))
    assert found.ways["vectorized"].startswith("refused: ") and found.ways["sequential"] == "right"
    assert not found.right and not found.parameters
    assert str(found).startswith("vectorized: refused")


def test_draws_of_its_own_are_not_compared() -> None:
    found = ilc.verify(with_dropout(), F.cross_entropy, *batch(), AndMask(0.8))
    assert found.ways["vectorized"].startswith("not compared: ") and found.ways["sequential"] == "right"
    assert ilc.verify(with_dropout().eval(), F.cross_entropy, *batch(), AndMask(0.8)).right


def test_no_certain_vote_is_no_right_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = Rounding(own=1.0, of_all=1.0, of_risk=1.0, makes_zeros=True)
    monkeypatch.setattr("ilc.verification._verify.rounding", lambda dtype: everything)
    for aggregator in (AndMask(0.8), Mean()):
        found = ilc.verify(perceptron(), F.cross_entropy, *batch(), aggregator)
        assert all(one.right and one.votes == 0 and not one.clear for one in found.parameters)
        assert not found.right and "double precision" in found.ways["vectorized"]


def test_sums_without_a_certain_vote_are_right_where_no_votes_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only_zeros = Rounding(own=1e-3, of_all=0.0, of_risk=0.0, makes_zeros=True)
    monkeypatch.setattr("ilc.verification._verify.rounding", lambda dtype: only_zeros)
    inputs, targets = batch()
    targets[0] = 0  # The first environment has no gradient, and its zeros may be rounding.

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) * (targets.sum() > 0)

    found = ilc.verify(perceptron(), loss, inputs, targets, AndMask(0.8))
    assert all(one.right and one.votes == 0 and one.clear for one in found.parameters)
    assert not found.right and "each sum of signs may be another one" in found.ways["vectorized"]
    assert ilc.verify(perceptron(), loss, inputs, targets, Mean()).right


class Sparing(nn.Module):
    """A layer, and one that it does not use."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.spare = nn.Linear(D, C), nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)
        return outputs


def negated(found: EnvironmentGradients) -> None:
    for one in found.statistics.values():
        one.total.neg_()
        one.sign_sum.neg_()


@pytest.mark.parametrize(
    ("aggregator", "wrong"), [(AndMask(0.5), False), (AndMask(0.5), True), (Mean(), False)]
)
def test_the_zeros_of_an_unused_layer_do_not_hide_what_rounding_hides(
    aggregator: Aggregator, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong:
        monkeypatch.setitem(WAYS, "vectorized", changed(negated))

    def far(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) + 1e6

    found = ilc.verify(Sparing(), far, *batch(), aggregator)
    assert not found.right and found.ways["vectorized"].startswith("not compared: no gradient is larger")
    assert [line.split()[-1] for line in str(found).splitlines()[1:5]] == ["compared"] * 4
    near = ilc.verify(Sparing(), F.cross_entropy, *batch(), aggregator)
    assert near.right != wrong
    assert [one.clear for one in near.parameters] == [True, True, False, False]
    votes = aggregator.needs_votes
    assert [(one.clear_votes > 0, one.votes) for one in near.parameters[2:]] == [
        (False, 4 * votes),
        (False, 2 * votes),
    ]


def test_the_zeros_of_an_unused_layer_are_no_votes() -> None:
    inputs, targets = batch()
    targets[0] = 0

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        """The gradient of the first environment is no larger than the rounding of the others."""
        return F.cross_entropy(outputs, targets) * torch.where(targets.sum() > 0, 1.0, 1e-9)

    found = ilc.verify(Sparing(), loss, inputs, targets, AndMask(0.5))
    assert [(one.clear, one.votes, one.clear_votes) for one in found.parameters] == [
        (True, 0, 0),
        (True, 0, 0),
        (False, 4, 0),
        (False, 2, 0),
    ]
    assert "each sum of signs may be another one" in found.ways["vectorized"]


ON_REQUEST = {
    "log_sum": GeometricMean(0.5),
    "square_sum": SandMask(0.5),
    "magnitude_sum": SignElection(),
}


@pytest.mark.parametrize("name", ON_REQUEST)
def test_a_wrong_sum_on_request_is_found_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(found: EnvironmentGradients) -> None:
        getattr(found.statistics["2.weight"], name)[1, 2] *= 1.1

    monkeypatch.setitem(WAYS, "vectorized", changed(change))
    found = ilc.verify(perceptron(), F.cross_entropy, *batch(), ON_REQUEST[name])
    assert found.ways == {"vectorized": "wrong in 1 of 4 parameters (2.weight)", "sequential": "right"}
    assert [one.wrong_on_request for one in found.parameters] == [(), (), (name,), ()]
    assert str(found).splitlines()[3].split()[-1] == name


@pytest.mark.parametrize("make", [perceptron, normalised, Sparing])
@pytest.mark.parametrize("name", ON_REQUEST)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_on_request_are_right_in_every_way(
    name: str, make: Callable[[], nn.Module], dtype: torch.dtype
) -> None:
    for way in ("vectorized", "per_example", "per_example_share", "per_example_loss"):
        inputs, targets = batch(way)
        found = ilc.verify(
            make().to(dtype), F.cross_entropy, inputs.to(dtype), targets, ON_REQUEST[name], way
        )
        assert set(found.ways.values()) == {"right"}


def test_hooks_and_a_loss_that_reads_the_model_are_part_of_the_loop() -> None:
    model = perceptron()
    next(model.parameters()).register_hook(lambda gradient: -gradient)  # type: ignore[no-untyped-call]

    def decayed(outputs: Tensor, targets: Tensor) -> Tensor:
        decay = torch.stack([p.square().sum() for p in model.parameters()]).sum()
        return F.cross_entropy(outputs, targets) + 0.1 * decay

    assert ilc.verify(model, decayed, *batch(), AndMask(0.8), "sequential").right


class Remembering(nn.Module):
    """A counter, a list and a running mean beside dropout and BatchNorm."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.body, self.calls, self.seen = nn.Sequential(normalised(), nn.Dropout(0.2)), 0, [1]
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen.append(len(x))
        self.mean = 0.5 * self.mean + x.mean()
        random.random()
        result: Tensor = self.body(x)
        return result


@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example", "per_example_loss"])
@pytest.mark.parametrize("refused", [False, True])
def test_nothing_of_the_users_moves(way: str, refused: bool) -> None:
    model = Remembering() if refused else nn.Sequential(normalised(), nn.Dropout(0.2))
    inputs, targets = batch(way)
    F.cross_entropy(model(inputs.flatten(0, 1)), targets.flatten()).backward()  # type: ignore[no-untyped-call]
    gradients = [p.grad for p in model.parameters()]
    copies = [None if g is None else g.clone() for g in gradients]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    kept = {key: str(value) for key, value in vars(model).items() if key in ("calls", "seen", "training")}
    given = inputs.clone(), targets.clone()
    numbers = torch.get_rng_state(), random.getstate()
    ilc.verify(model, F.cross_entropy, inputs, targets, AndMask(0.8), way)
    assert torch.equal(torch.get_rng_state(), numbers[0]) and random.getstate() == numbers[1]
    torch.testing.assert_close(model.state_dict(), state, rtol=0, atol=0)
    for p, gradient, copy in zip(model.parameters(), gradients, copies, strict=True):
        assert p.grad is gradient and (copy is None or torch.equal(p.grad, copy))  # type: ignore[arg-type]
    assert kept == {key: str(value) for key, value in vars(model).items() if key in kept}
    torch.testing.assert_close((inputs, targets), given, rtol=0, atol=0)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_after_an_error_nothing_has_moved_either() -> None:
    def failing(outputs: Tensor, targets: Tensor) -> Tensor:
        raise RuntimeError("of the user's own")

    model = normalised()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="of the user's own"):
        ilc.verify(model, failing, *batch(), AndMask(0.8), "sequential")
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)


def test_what_cannot_be_verified_is_said() -> None:
    with pytest.raises(UserError, match="gradients must be one of"):
        ilc.verify(perceptron(), F.cross_entropy, *batch(), AndMask(0.8), "fast")
    with pytest.raises(UserError, match=r"VRex looks at all environments together.*AndMask"):
        ilc.verify(perceptron(), F.cross_entropy, *batch(), VRex(1.0))
