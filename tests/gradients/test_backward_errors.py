"""What cannot be differentiated ends in a message with the remedy."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import WAYS, backward

X, Y = torch.randn(3, 4, 5), torch.zeros(3, 4, dtype=torch.long)


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [
        (X[:0], Y[:0]),
        (X[:, :0], Y[:, :0]),
        (X, Y[:2]),
        (X, Y[:, :3]),
        (X[0, 0], Y[0]),
    ],
)
def test_shapes_without_environments_or_examples(inputs: Tensor, targets: Tensor) -> None:
    with pytest.raises(UserError, match=r"\[E, N\], both at least 1"):
        backward(nn.Linear(5, 2), F.cross_entropy, inputs, targets, Mean())


def test_unknown_way() -> None:
    with pytest.raises(UserError, match="must be one of vectorized, sequential"):
        backward(nn.Linear(5, 2), F.cross_entropy, X, Y, Mean(), gradients="magic")


@pytest.mark.parametrize("way", WAYS)
def test_all_frozen(way: str) -> None:
    with pytest.raises(UserError, match="no trainable parameter"):
        backward(nn.Linear(5, 2).requires_grad_(False), F.cross_entropy, X, Y, Mean(), gradients=way)


@pytest.mark.parametrize("way", WAYS)
def test_detached_risk(way: str) -> None:
    with pytest.raises(UserError, match="does not depend on any trainable parameter"):
        backward(nn.Linear(5, 2), lambda o, t: F.cross_entropy(o.detach(), t), X, Y, Mean(), gradients=way)


@pytest.mark.parametrize("way", WAYS)
def test_risk_per_example(way: str) -> None:
    def unreduced(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets, reduction="none")

    with pytest.raises(UserError, match="a scalar, got shape"):
        backward(nn.Linear(5, 2), unreduced, X, Y, Mean(), gradients=way)


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)
        return outputs if outputs.sum() > 0 else -outputs


def test_control_flow_names_the_way_that_can_follow_it() -> None:
    with pytest.raises(UserError, match="use gradients='sequential'"):
        backward(Branching(), F.cross_entropy, X, Y, Mean())
    backward(Branching(), F.cross_entropy, X, Y, Mean(), gradients="sequential")


def test_gradients_are_overwritten_not_accumulated() -> None:
    model = nn.Linear(5, 2)
    backward(model, F.cross_entropy, X, Y, AndMask(0.0))
    assert model.weight.grad is not None
    once = model.weight.grad.clone()
    backward(model, F.cross_entropy, X, Y, AndMask(0.0))
    torch.testing.assert_close(model.weight.grad, once)
