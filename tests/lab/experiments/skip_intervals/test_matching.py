"""Matching and loss against a plain loop; nothing past the end."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ilc.errors import UserError
from lab.experiments.skip_intervals.matching import losses, match
from lab.experiments.skip_intervals.methods import Method, method_named
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.experiments.skip_intervals.unrolling import unrolled


def drawn(lengths: list[int], size: int = 5) -> Trajectories:
    counts = torch.tensor(lengths)
    frames = (torch.rand(sum(lengths), 3, size, size) < 0.5).to(torch.uint8)
    return Trajectories(frames, counts.cumsum(0) - counts, counts, torch.zeros_like(counts))


def plain(model: torch.nn.Module, frames: list[Tensor], method: Method, calls: int) -> tuple[Tensor, int]:
    """Algorithm 1 for one trajectory, fed with its own predictions: sum of losses and calls."""
    t, total, count = 0, torch.zeros(()), 0
    inputs = frames[0]
    while t < len(frames) - 1 and (calls == 0 or count < calls):
        logits = model(inputs[None])[0]
        ends = [t + k for k in range(method.nearest, method.farthest + 1) if t + k < len(frames)]
        every = [
            (F.binary_cross_entropy_with_logits(logits, frames[s]), s) for s in ends or [len(frames) - 1]
        ]
        loss, t = min(every, key=lambda pair: float(pair[0].detach()))
        total, count = total + loss, count + 1
        inputs = logits.sigmoid()
    return total, count


def test_losses_are_pytorchs_of_every_pair() -> None:
    logits, frames = 3 * torch.randn(4, 3, 5, 6), torch.rand(4, 7, 3, 5, 6)
    for b, row in enumerate(losses(logits, frames)):
        for s, value in enumerate(row):
            expected = F.binary_cross_entropy_with_logits(logits[b], frames[b, s])
            torch.testing.assert_close(value, expected)


@pytest.mark.parametrize("name", ["adaptive", "fixed_1", "fixed_2", "fixed_3"])
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_unrolled_loss_and_gradient_are_those_of_a_plain_loop(name: str, calls: int) -> None:
    trajectories = drawn([6, 2, 9, 3])
    model = torch.nn.Conv2d(3, 3, 3, padding=1)
    method = method_named(name, horizon=4)
    rows = torch.arange(4)
    seen = unrolled(model, trajectories, rows, torch.zeros(4).long(), method, calls, truth=0, random=0)
    (gradient,) = torch.autograd.grad(seen.loss, [model.weight])
    sums = []
    for row in range(4):
        times = torch.arange(int(trajectories.lengths[row]))
        frames = list(trajectories.at(torch.full_like(times, row), times))
        sums.append(plain(model, frames, method, calls))
    count = sum(n for _, n in sums)
    expected = torch.stack([total for total, _ in sums]).sum() / count
    torch.testing.assert_close(seen.loss, expected)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, [model.weight])[0])
    assert seen.evaluations == count
    if calls == 0:
        assert seen.frames == int((trajectories.lengths - 1).sum())


@given(
    times=st.lists(st.integers(0, 20), min_size=1, max_size=5),
    left=st.integers(1, 12),
    horizon=st.integers(1, 8),
    name=st.sampled_from(["adaptive", "fixed_1", "fixed_5"]),
)
def test_no_candidate_lies_past_the_end_or_is_counted_twice(
    times: list[int], left: int, horizon: int, name: str
) -> None:
    now = torch.tensor(times)
    last = now + left
    ahead, valid = method_named(name, horizon).candidates(now, last)
    assert (ahead <= last[:, None]).all()
    assert (ahead > now[:, None]).all()
    for row, real in zip(ahead, valid, strict=True):
        chosen = row[real].tolist()
        assert chosen
        assert len(set(chosen)) == len(chosen)
        assert real.tolist() == sorted(real.tolist(), reverse=True)
    if name == "adaptive":
        assert valid.sum(1).tolist() == [min(horizon, left)] * len(times)


def test_padding_is_never_matched() -> None:
    # The padded candidates would fit perfectly.
    logits = torch.full((3, 1, 2, 2), -20.0)
    frames = torch.zeros(3, 4, 1, 2, 2)
    frames[:, :2] = 1.0
    valid = torch.tensor([[True, True, False, False]]).expand(3, -1)
    assert (match(logits, frames, valid).chosen < 2).all()
    at_random = torch.tensor([0.999999, 0.0, -1.0])
    assert match(logits, frames, valid, at_random).chosen.tolist() == [1, 0, 0]


def test_random_matches_are_uniform_over_the_valid_candidates() -> None:
    n = 30_000
    valid = torch.tensor([[True, True, True, False]]).expand(n, -1)
    index = match(torch.zeros(n, 1, 1, 1), torch.zeros(n, 4, 1, 1, 1), valid, torch.rand(n)).chosen
    shares = index.bincount(minlength=4) / n
    torch.testing.assert_close(shares, torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]), atol=0.02, rtol=0)


def test_true_frames_are_fed_as_often_as_asked() -> None:
    trajectories = drawn([9])
    fed = []

    def model(frames: Tensor) -> Tensor:
        fed.append(frames)
        return torch.zeros_like(frames).requires_grad_()

    for truth, expected in ((1.0, True), (0.0, False)):
        fed.clear()
        unrolled(
            model, trajectories, torch.tensor([0]), torch.tensor([0]), method_named("fixed_1", 1), 4, truth, 0
        )
        assert len(fed) == 4
        for t, frames in enumerate(fed[1:], 1):
            assert torch.equal(frames[0], trajectories.frames[t].float()) == expected


def test_other_methods_are_refused() -> None:
    for name in ("fixed_0", "fixed_", "skip", "fixed_-1"):
        with pytest.raises(UserError, match="method must be adaptive"):
            method_named(name, 5)
    with pytest.raises(UserError, match="horizon"):
        method_named("adaptive", 0)
