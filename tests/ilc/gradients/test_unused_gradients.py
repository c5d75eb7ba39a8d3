"""A second backward says when it overwrites gradients that nothing has used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import accumulate, distributed
from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import backward

MESSAGE = "overwrites the gradients of the one before"


def batch(seed: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(3, 4, 5, generator=random), torch.randint(0, 2, (3, 4), generator=random)


class Through(torch.optim.Optimizer):
    """Writes as older optimizers do: nothing counts as a write to the parameter."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})

    def step(self, closure: Any = None) -> None:
        for p in self.param_groups[0]["params"]:
            p.data.sub_(0.1 * p.grad)


def by_hand(model: nn.Module) -> None:
    with torch.no_grad():
        for p in model.parameters():
            assert p.grad is not None
            p.sub_(0.1 * p.grad)


def clipped(model: nn.Module) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)


def by_hand_through_data(model: nn.Module) -> None:
    for p in model.parameters():
        assert p.grad is not None
        p.data.sub_(0.1 * p.grad)


USES: dict[str, Callable[[nn.Module], Any]] = {
    "SGD": lambda model: torch.optim.SGD(model.parameters(), lr=0.1).step(),
    "fused Adam": lambda model: torch.optim.Adam(model.parameters(), fused=True).step(),
    "through data": lambda model: Through(model.parameters()).step(),
    "by hand": by_hand,
    "by hand through data": by_hand_through_data,
    "zero_grad": lambda model: model.zero_grad(),
    "zero_grad to zero": lambda model: model.zero_grad(set_to_none=False),
    "overflow": lambda model: next(model.parameters()).grad.fill_(torch.inf),
    "gradients of another loss": lambda model: [
        setattr(p, "grad", p.grad.clone()) for p in model.parameters()
    ],
}


@pytest.mark.parametrize("use", USES)
def test_nothing_is_said_when_the_gradients_were_used_or_given_up(use: str) -> None:
    model = nn.Linear(5, 2)
    for seed in range(3):
        backward(model, F.cross_entropy, *batch(seed), Mean())
        USES[use](model)


@pytest.mark.parametrize("call", [backward, distributed.backward])
@pytest.mark.parametrize("change", [lambda model: None, clipped, lambda model: model.eval()])
def test_a_micro_batch_that_would_be_lost_is_said(call: Callable[..., Any], change: Any) -> None:
    model = nn.Linear(5, 2)
    call(model, F.cross_entropy, *batch(0), Mean())
    change(model)
    with pytest.raises(UserError):  # Nothing is overwritten, so nothing is said.
        call(model, F.cross_entropy, batch(1)[0], batch(1)[1][:2], Mean())
    with pytest.warns(UserWarning, match=MESSAGE):
        call(model, F.cross_entropy, *batch(1), Mean())


@pytest.mark.parametrize("nest", [lambda x: x, lambda x: [{"input": one} for one in x]])
def test_the_same_batch_again_is_a_comparison(nest: Callable[[Tensor], Any]) -> None:
    model = nn.Linear(5, 2)
    inputs, targets = batch(0)
    given = nest(inputs)
    for aggregator in (Mean(), AndMask(0.5)):
        for way in ("vectorized", "sequential"):
            backward(model, F.cross_entropy, given, targets, aggregator, way)
    backward(model, F.cross_entropy, nest(inputs.clone()), targets, Mean())
    inputs += 1  # Another batch in the same memory.
    with pytest.warns(UserWarning, match=MESSAGE):
        backward(model, F.cross_entropy, given, targets, Mean())


class Masked(nn.Linear):
    def forward(self, mask: Tensor, x: Tensor) -> Tensor:
        return super().forward(x * mask)


def test_an_equal_mask_does_not_make_two_batches_the_same() -> None:
    model = Masked(5, 2)
    mask = torch.ones(3, 4, 1)
    backward(model, F.cross_entropy, {"mask": mask, "x": batch(0)[0]}, batch(0)[1], Mean())
    backward(model, F.cross_entropy, {"mask": mask, "x": batch(0)[0]}, batch(0)[1], Mean())
    with pytest.warns(UserWarning, match=MESSAGE):
        backward(model, F.cross_entropy, {"mask": mask, "x": batch(1)[0]}, batch(1)[1], Mean())


def test_batches_of_other_layouts() -> None:
    model = nn.Linear(5, 2)
    inputs, targets = batch(0)
    sparse = [x.to_sparse() for x in inputs]
    for _ in range(2):
        backward(model, F.cross_entropy, sparse, list(targets), Mean(), "sequential")
        model.zero_grad()


def test_accumulation_says_it_once_for_all_its_calls() -> None:
    model = nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for first in (0, 2):
        with accumulate(AndMask(0.5)) as votes:
            for seed in (first, first + 1):
                votes.backward(model, F.cross_entropy, *batch(seed))
        optimizer.step()
    backward(model, F.cross_entropy, *batch(4), Mean())
    with pytest.warns(UserWarning, match=MESSAGE) as said, accumulate(AndMask(0.5)) as votes:
        votes.backward(model, F.cross_entropy, *batch(5))
    assert said[0].filename == __file__


def test_models_do_not_know_of_each_other() -> None:
    one, other = nn.Linear(5, 2), nn.Linear(5, 2)
    backward(one, F.cross_entropy, *batch(0), Mean())
    backward(other, F.cross_entropy, *batch(1), Mean())
