"""A mean of examples takes no votes, and is the mean that it was."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional as F

from ilc.aggregators import Aggregator, AndMask, Mean
from ilc.aggregators._mean import MeanOfEnvironments
from ilc.errors import UserError
from ilc.gradients import WAYS, backward, combined, environment_gradients
from lab.models import FastResNet


@pytest.mark.parametrize("gradients", ["per_example", "per_example_share", "per_example_loss"])
@pytest.mark.parametrize(
    "aggregator", [Mean(), MeanOfEnvironments(), AndMask(0.0), AndMask(0.0, rescale=True)]
)
def test_is_what_the_votes_sum_to(gradients: str, aggregator: Aggregator) -> None:
    torch.manual_seed(0)
    model = FastResNet(3, 5, width=4).double()
    other = copy.deepcopy(model)
    inputs, targets = torch.randn(6, 1, 3, 8, 8, dtype=torch.float64), torch.randint(5, (6, 1))
    fast = backward(model, F.cross_entropy, inputs, targets, aggregator, gradients)
    votes = environment_gradients(other, F.cross_entropy, inputs, targets, AndMask(0.2), gradients)
    assert all(not s.sign_sum.isnan().any() for s in votes.statistics.values())
    slow = combined(other, votes, Mean())
    torch.testing.assert_close(fast.risks, slow.risks)
    assert {name: float(share) for name, share in fast.kept_share.items()} == dict.fromkeys(
        slow.kept_share, 1.0
    )
    for (name, p), q in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-9, atol=1e-12, msg=name)
    for one, another in zip(model.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(one, another)


def test_no_vote_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("votes were taken")

    model = torch.nn.Linear(3, 2)
    x, y = torch.randn(4, 1, 3), torch.randint(2, (4, 1))
    monkeypatch.setitem(WAYS, "per_example", refuse)
    backward(model, F.cross_entropy, x, y, AndMask(0.0), "per_example")
    with pytest.raises(UserError, match="votes were taken"):
        backward(model, F.cross_entropy, x, y, AndMask(0.2), "per_example")
