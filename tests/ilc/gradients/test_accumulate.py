"""Environments over several calls give what one call with all of them gives."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import accumulate
from ilc.aggregators import (
    Aggregator,
    AndMask,
    GeometricMean,
    Iga,
    Mean,
    SandMask,
    SignElection,
    VRex,
    XorMask,
)
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, backward
from ilc.objectives import Objective

D, N, PARTS = 5, 6, (3, 1, 2)


def make(norm: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 8, bias=False), norm, nn.Tanh(), nn.Linear(8, 3)).double()


def batch(n: int = N) -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    inputs = torch.randn(sum(PARTS), n, D, dtype=torch.float64)
    return inputs, torch.randint(0, 3, (sum(PARTS), n))


def penalised(outputs: Tensor, targets: Tensor) -> Objective:
    risk, penalty = F.cross_entropy(outputs, targets), outputs.square().mean()
    return Objective(risk + 2 * penalty, risk, penalty)


def in_parts(model: nn.Module, loss_fn: Any, aggregator: Aggregator, way: str, n: int = N) -> Any:
    inputs, targets = (values.split(PARTS) for values in batch(n))
    with accumulate(aggregator) as votes:
        for x, y in zip(inputs, targets, strict=True):
            risks = votes.backward(model, loss_fn, x, y, way)
            assert risks.shape == (len(x),) and votes.result is None
            assert all(p.grad is None for p in model.parameters())
    return votes.result


AGGREGATORS = [Mean(), AndMask(0.6), AndMask(0.6, rescale=True), GeometricMean(0.3), XorMask(0.6)]
ON_REQUEST = [SandMask(0.5), SignElection()]


@pytest.mark.parametrize("aggregator", AGGREGATORS + ON_REQUEST, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("way", ["vectorized", "sequential", *PER_EXAMPLE])
def test_parts_are_one_call(way: str, aggregator: Aggregator) -> None:
    n = 1 if way in PER_EXAMPLE else N
    norm = nn.GroupNorm(2, 8) if way in PER_EXAMPLE else nn.BatchNorm1d(8)
    model, whole = make(norm), make(copy.deepcopy(norm))
    expected = backward(whole, penalised, *batch(n), aggregator, way)
    result = in_parts(model, penalised, aggregator, way, n)
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        assert p.grad is not None and q.grad is not None
        torch.testing.assert_close(p.grad, q.grad)
        assert torch.equal(p.grad == 0, q.grad == 0)
    for b, c in zip(model.buffers(), whole.buffers(), strict=True):
        torch.testing.assert_close(b, c)
    torch.testing.assert_close(result.risks, expected.risks)
    torch.testing.assert_close(result.penalties, expected.penalties)
    torch.testing.assert_close(result.overall_kept_share, expected.overall_kept_share)
    assert result.kept_share.keys() == expected.kept_share.keys()


def test_parts_are_the_plain_loop_of_all_environments() -> None:
    """Lists of unequal environments and nests, in calls of their own."""
    model = make(nn.BatchNorm1d(8))
    torch.manual_seed(3)
    environments = [(torch.randn(n, D, dtype=torch.float64), torch.randint(0, 3, (n,))) for n in (4, 7, 5, 3)]
    rows, buffers, risks = [], [], []
    for x, y in environments:
        alone = copy.deepcopy(model)
        risk = F.cross_entropy(alone(x), y)
        rows.append(torch.autograd.grad(risk, list(alone.parameters())))
        risks.append(risk.detach())
        buffers.append(list(alone.buffers()))
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = environments
    with accumulate(AndMask(0.7)) as votes:
        votes.backward(model, F.cross_entropy, [x0, x1], [y0, y1])
        votes.backward(model, F.cross_entropy, [{"input": x2}], [y2])
        votes.backward(model, [lambda: F.cross_entropy(model(x3), y3)])
    for p, column in zip(model.parameters(), zip(*rows, strict=True), strict=True):
        torch.testing.assert_close(p.grad, AndMask(0.7)(torch.stack(column)))
    for b, values in zip(model.buffers(), zip(*buffers, strict=True), strict=True):
        torch.testing.assert_close(b.double(), torch.stack(values).double().mean(0))
    assert votes.result is not None
    torch.testing.assert_close(votes.result.risks, torch.stack(risks))


def test_memory_does_not_grow_with_the_number_of_calls() -> None:
    model = make(nn.GroupNorm(2, 8))
    size = sum(p.numel() for p in model.parameters())
    held = []
    with accumulate(GeometricMean(0.5)) as votes:
        for _ in range(5):
            votes.backward(model, F.cross_entropy, *batch())
            sums = votes._statistics.values()
            tensors = [value for one in sums for value in vars(one).values() if isinstance(value, Tensor)]
            held.append(sum(tensor.numel() for tensor in tensors))
    assert held == [3 * size] * 5  # The sum, the sum of signs and the sum of logarithms.


def test_buffers_between_the_calls_are_those_before_the_first() -> None:
    model = make(nn.BatchNorm1d(8))
    before = [b.clone() for b in model.buffers()]
    inputs, targets = batch()
    with pytest.raises(ZeroDivisionError), accumulate(Mean()) as votes:
        votes.backward(model, F.cross_entropy, inputs, targets)
        assert all(map(torch.equal, model.buffers(), before))
        raise ZeroDivisionError
    assert all(map(torch.equal, model.buffers(), before))
    assert all(p.grad is None for p in model.parameters()) and votes.result is None


def test_finished_losses_leave_the_buffers_as_their_passes_did() -> None:
    model, plain = make(nn.BatchNorm1d(8)), make(nn.BatchNorm1d(8))
    inputs, targets = batch()
    with accumulate(AndMask(0.6)) as votes:
        for x, y in zip(inputs, targets, strict=True):
            votes.backward(model, [F.cross_entropy(model(x), y)])
    rows = [
        torch.autograd.grad(F.cross_entropy(plain(x), y), list(plain.parameters()))
        for x, y in zip(inputs, targets, strict=True)
    ]
    for p, column in zip(model.parameters(), zip(*rows, strict=True), strict=True):
        torch.testing.assert_close(p.grad, AndMask(0.6)(torch.stack(column)))
    assert all(map(torch.equal, model.buffers(), plain.buffers()))


def test_a_call_that_failed_and_was_caught_is_left_out() -> None:
    model, whole = make(nn.BatchNorm1d(8)), make(nn.BatchNorm1d(8))
    inputs, targets = batch()
    with (
        pytest.raises(UserError, match="no environment was given"),
        accumulate(Mean()) as votes,
        pytest.raises(UserError, match="both at least 1"),
    ):
        votes.backward(model, F.cross_entropy, inputs[:0], targets[:0])
    with accumulate(Mean()) as votes:
        votes.backward(model, F.cross_entropy, inputs, targets)
        with pytest.raises(UserError, match="has one example"):
            votes.backward(model, F.cross_entropy, [inputs[0], inputs[1, :1]], [targets[0], targets[1, :1]])
    backward(whole, F.cross_entropy, inputs, targets, Mean())
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)
    for b, c in zip(model.buffers(), whole.buffers(), strict=True):
        torch.testing.assert_close(b, c)


def scaled_steps(parts: bool, scaler: Any) -> tuple[list[Tensor], Tensor, float]:
    """Two steps under autocast with scaling, clipping and a schedule: parameters, risks, learning rate."""
    model = make(nn.GroupNorm(2, 8)).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    inputs, targets = batch()
    inputs = inputs.float()

    def scaled(outputs: Tensor, y: Tensor) -> Objective:
        risk = F.cross_entropy(outputs, y)
        return Objective(scaler.scale(risk), risk, torch.zeros_like(risk))

    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            if parts:
                with accumulate(AndMask(0.6)) as votes:
                    for x, y in zip(inputs.split(PARTS), targets.split(PARTS), strict=True):
                        votes.backward(model, scaled, x, y, "sequential")
                result = votes.result
            else:
                result = backward(model, scaled, inputs, targets, AndMask(0.6), "sequential")
        assert result is not None
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
    return list(model.parameters()), result.risks, optimizer.param_groups[0]["lr"]


def test_under_autocast_with_scaling_clipping_and_a_schedule() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    whole, risks, rate = scaled_steps(False, scaler)
    ours, our_risks, our_rate = scaled_steps(True, torch.amp.GradScaler("cpu", init_scale=2.0**12))
    plain, plain_risks, _ = scaled_steps(True, torch.amp.GradScaler("cpu", enabled=False))
    assert rate == our_rate == 0.025
    for p, q, r in zip(ours, whole, plain, strict=True):
        torch.testing.assert_close(p, q)
        torch.testing.assert_close(p, r, rtol=1e-2, atol=1e-3)
    assert 0.5 < float(our_risks.mean()) < 2  # Not times the scale.
    torch.testing.assert_close(our_risks, risks, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(our_risks, plain_risks, rtol=1e-2, atol=1e-2)


def step_within(votes: Any, model: nn.Module) -> None:
    votes.backward(model, F.cross_entropy, *batch())
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1)
    votes.backward(model, F.cross_entropy, *batch())


def other_model(votes: Any, model: nn.Module) -> None:
    votes.backward(model, F.cross_entropy, *batch())
    votes.backward(copy.deepcopy(model), F.cross_entropy, *batch())


def freeze_within(votes: Any, model: nn.Module) -> None:
    votes.backward(model, F.cross_entropy, *batch())
    model[0].requires_grad_(False)  # type: ignore[index]
    votes.backward(model, F.cross_entropy, *batch())


def eval_within(votes: Any, model: nn.Module) -> None:
    votes.backward(model, F.cross_entropy, *batch())
    model[1].eval()  # type: ignore[index, operator]
    votes.backward(model, F.cross_entropy, *batch())


def layer_replaced_within(votes: Any, model: nn.Module) -> None:
    votes.backward(model, F.cross_entropy, *batch())
    model[0] = copy.deepcopy(model[0])  # type: ignore[index, operator]
    votes.backward(model, F.cross_entropy, *batch())


@pytest.mark.parametrize(
    ("aggregator", "use", "message"),
    [
        (VRex(1.0), None, "VRex needs the graphs or gradients of all environments at once"),
        (Iga(1.0), None, "Iga needs the graphs or gradients of all environments at once"),
        (AndMask, None, "must be an instance, got the class AndMask"),
        (Mean(), lambda votes, model: None, "no environment was given to ilc.accumulate"),
        (Mean(), step_within, "the parameters have changed since the first micro-batch"),
        (Mean(), freeze_within, "the parameters have changed since the first micro-batch"),
        (Mean(), layer_replaced_within, "the parameters have changed since the first micro-batch"),
        (Mean(), eval_within, r"train\(\) or eval\(\) was called since the first micro-batch"),
        (Mean(), other_model, "this is another model than in the first micro-batch"),
        (Mean(), lambda v, m: v.backward(m, F.mse_loss, *batch(), "pooled"), "call loss.backward"),
        (
            Mean(),
            lambda v, m: v.backward(m, F.mse_loss, *batch(), "per_example"),
            "under BatchNorm, of which",
        ),
        (Mean(), lambda v, m: v.backward(m, F.mse_loss, batch()[0][:0]), "both at least 1"),
    ],
)
def test_what_cannot_be_collected_is_one_line(aggregator: Any, use: Any, message: str) -> None:
    model = make(nn.BatchNorm1d(8))
    with pytest.raises(UserError, match=message) as error, accumulate(aggregator) as votes:
        use(votes, model)
    assert "\n" not in str(error.value)
    assert all(p.grad is None for p in model.parameters())


def test_environments_after_the_block_are_refused() -> None:
    model = make(nn.Identity())
    with accumulate(Mean()) as votes:
        votes.backward(model, F.cross_entropy, *batch())
    with pytest.raises(UserError, match="further environments would have no vote"):
        votes.backward(model, F.cross_entropy, *batch())


class Shortened(nn.Module):
    """An embedding whose rows a pass makes shorter, in place."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(10, 4, max_norm=1.0), nn.Linear(4, 3)

    def forward(self, words: Tensor) -> Tensor:
        result: Tensor = self.out(self.words(words).mean(1))
        return result


def test_rows_that_a_pass_shortens_are_no_optimizer_step() -> None:
    model = Shortened()
    other = copy.deepcopy(model)
    words, targets = torch.randint(0, 10, (4, 6, 5)), torch.randint(0, 3, (4, 6))
    backward(other, F.cross_entropy, words, targets, AndMask(0.5), "sequential")
    with accumulate(AndMask(0.5)) as votes:
        for x, y in zip(words.split(2), targets.split(2), strict=True):
            votes.backward(model, F.cross_entropy, x, y, "sequential")
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


class RunningMinimum(nn.Module):
    """A layer with the smallest input so far, which begins at infinity."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(5, 3)
        self.register_buffer("smallest", torch.full((5,), torch.inf))

    def forward(self, x: Tensor) -> Tensor:
        self.smallest = torch.minimum(self.smallest, x.detach().amin(0))
        result: Tensor = self.out(x)
        return result


def test_a_buffer_that_begins_at_infinity_ends_as_the_mean() -> None:
    model, x = RunningMinimum(), torch.randn(4, 6, 5)
    for step in range(2):
        before = model.smallest.clone()
        with accumulate(AndMask(0.5)) as votes:
            for some in (x + step).split(2):
                votes.backward(model, F.cross_entropy, some, torch.zeros(2, 6, dtype=torch.long))
        torch.testing.assert_close(model.smallest, torch.minimum(before, (x + step).amin(1)).mean(0))
        model.zero_grad()
