"""Parts with a factor of zero that grows later, where no fingerprint sees the number."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import environment_gradients
from ilc.gradients._trials.zero_factors import zero_factors_as_ones

D, C = 5, 3
BY_EXAMPLES = ("per_example", "per_example_share")


class Schedule:
    """Any object of a user: its numbers are mostly counters, so they are in no fingerprint."""

    weight = 0.0


class Net(nn.Module):
    """Keeps an auxiliary loss of the whole batch, and may bring rows together."""

    def __init__(self, schedule: Schedule, part: Callable[[Tensor, float], Tensor] | None = None) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 7), nn.Linear(7, C)
        self.schedule, self.part = schedule, part
        self.aux = torch.zeros(())

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        self.aux = F.relu(h.square().mean() - 0.1)
        result: Tensor = self.last(h if self.part is None else self.part(h, self.schedule.weight))
        return result


def batch(e: int, n: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    return torch.randn(e, n, D, generator=random).double(), torch.randint(0, C, (e, n), generator=random)


def test_an_auxiliary_loss_of_weight_zero_votes_for_its_environment_later(
    same_as_loop: Callable[..., None],
) -> None:
    torch.manual_seed(0)
    schedule = Schedule()
    model = Net(schedule).double()

    def penalised(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) + schedule.weight * model.aux

    for weight in (0.0, 0.0, 3.0):
        schedule.weight = weight
        inputs, targets = batch(4, 3)
        found = environment_gradients(model, penalised, inputs, targets, AndMask(0.5))
        loop = environment_gradients(model, penalised, inputs, targets, AndMask(0.5), "sequential")
        torch.testing.assert_close(found.risks, loop.risks)
        for name, one in loop.statistics.items():
            torch.testing.assert_close(found.statistics[name].total, one.total, msg=name)
            torch.testing.assert_close(found.statistics[name].sign_sum, one.sign_sum, msg=name)


@pytest.mark.parametrize("reached", [True, False])
@pytest.mark.parametrize("way", BY_EXAMPLES)
def test_per_example_it_is_refused_or_right(way: str, reached: bool) -> None:
    torch.manual_seed(0)
    schedule = Schedule()
    model = Net(schedule).double()
    inputs, targets = batch(8, 1)
    with torch.no_grad():
        model.first.weight.mul_(1.0 if reached else 0.02)
        model.first.bias.mul_(1.0 if reached else 0.02)

    def penalised(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) + schedule.weight * model.aux

    if reached:
        with pytest.raises(UserError, match="gradients='per_example_loss'"):
            environment_gradients(model, penalised, inputs, targets, AndMask(0.5), way)
        return
    for _ in range(2):  # After the first step the model holds a tensor of another kind.
        environment_gradients(model, penalised, inputs, targets, AndMask(0.5), way)
    schedule.weight = 3.0
    found = environment_gradients(model, penalised, 30 * inputs, targets, AndMask(0.5), way)
    exact = environment_gradients(model, penalised, 30 * inputs, targets, AndMask(0.5), "per_example_loss")
    for name, one in exact.statistics.items():
        torch.testing.assert_close(found.statistics[name].sign_sum, one.sign_sum, msg=name)


PARTS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "times": lambda h, w: h + w * h.flip(0),
    "times from the right": lambda h, w: h + h.roll(1, 0) * w,
    "scaled sum": lambda h, w: torch.add(h, h.flip(0), alpha=w),
    "scaled difference": lambda h, w: torch.sub(h, h.flip(0), alpha=w),
    "a tensor": lambda h, w: h + torch.tensor([w], dtype=h.dtype) * h.flip(0),
    "between two": lambda h, w: (1 - w) * h + w * h.flip(0),
    "rows before": lambda h, w: h + w * (torch.ones(len(h), len(h)).to(h).tril() @ h),
    "rows after": lambda h, w: h + w * (torch.ones(len(h), len(h)).to(h).triu() @ h),
}


@pytest.mark.parametrize("way", BY_EXAMPLES)
@pytest.mark.parametrize("part", PARTS)
def test_rows_that_meet_with_a_factor_of_zero_are_refused_at_once(part: str, way: str) -> None:
    torch.manual_seed(0)
    model = Net(Schedule(), PARTS[part]).double()
    with pytest.raises(UserError, match=r"other examples.*gradients='per_example_loss'"):
        environment_gradients(model, F.cross_entropy, *batch(6, 1), AndMask(0.5), way)


@pytest.mark.parametrize("part", PARTS)
def test_environments_do_not_meet_once_it_has_grown(part: str, same_as_loop: Callable[..., None]) -> None:
    torch.manual_seed(0)
    schedule = Schedule()
    model = Net(schedule, PARTS[part]).double()
    for weight in (0.0, 0.7):
        schedule.weight = weight
        model.aux = torch.zeros(())  # Copies of a model hold no graph.
        same_as_loop(model, F.cross_entropy, *batch(4, 3), "vectorized")


@pytest.mark.parametrize("way", BY_EXAMPLES)
def test_rows_that_keep_to_themselves_may_have_a_factor_of_zero(
    way: str, same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(0)
    schedule = Schedule()
    model = Net(schedule, lambda h, w: h + w * h.flip(1) + 0.0 * h).double()
    for weight in (0.0, 2.0):
        schedule.weight = weight
        model.aux = torch.zeros(())  # Copies of a model hold no graph.
        same_as_loop(model, F.cross_entropy, *batch(6, 1), way)


def test_only_factors_that_are_one_number_count() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    zero = torch.zeros(())
    for y, factor in ((x * 0.0, 1.0), (x * zero, 1.0), (x * torch.zeros(3), 0.0), (x * 2.0, 2.0)):
        with zero_factors_as_ones([y.grad_fn] if y.grad_fn is not None else []):
            (gradient,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        assert bool((gradient == factor).all())
    y = x * 0.0
    with zero_factors_as_ones([y.grad_fn] if y.grad_fn is not None else []):
        pass
    assert not bool(torch.autograd.grad(y.sum(), x)[0].any())


class CalledTwice(nn.Module):
    """Calls its first layer a second time, in a branch whose factor grows from zero."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.first, self.last, self.schedule = nn.Linear(D, D), nn.Linear(D, C), schedule

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        result: Tensor = self.last(h + self.schedule.weight * self.first(h).tanh())
        return result


@pytest.mark.parametrize("way", ["vectorized", *BY_EXAMPLES])
def test_a_second_call_with_a_factor_of_zero_is_seen(way: str, same_as_loop: Callable[..., None]) -> None:
    torch.manual_seed(0)
    schedule = Schedule()
    model = CalledTwice(schedule).double()
    for weight in (0.0, 3.0):
        schedule.weight = weight
        same_as_loop(model, F.cross_entropy, *(batch(4, 3) if way == "vectorized" else batch(9, 1)), way)
