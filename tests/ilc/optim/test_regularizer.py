"""Weight decay and L1 against torch's own, and that no mask reaches them."""

from __future__ import annotations

import pytest
import torch
from torch import nn, optim

from ilc.errors import UserError
from ilc.optim import Regularizer

LR, DECAY, L1 = 0.1, 0.3, 0.02


def step_side_by_side(
    ours: nn.Parameter,
    regularizer: Regularizer,
    optimizer: optim.Optimizer,
    theirs: nn.Parameter,
    other: optim.Optimizer,
) -> None:
    """Ten steps along the same gradients, with our regularizer and with torch's own."""
    for _ in range(10):
        gradient = torch.randn(5)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        regularizer.before_step()
        optimizer.step()
        regularizer.after_step(LR)
        other.step()


@pytest.mark.parametrize("kind", [optim.Adam, optim.SGD])
def test_coupled_decay_is_torchs(kind: type[optim.Adam] | type[optim.SGD]) -> None:
    ours, theirs = nn.Parameter(torch.linspace(-1, 1, 5)), nn.Parameter(torch.linspace(-1, 1, 5))
    regularizer = Regularizer([ours], DECAY)
    other = kind([theirs], lr=LR, weight_decay=DECAY)
    step_side_by_side(ours, regularizer, kind([ours], lr=LR), theirs, other)
    torch.testing.assert_close(ours, theirs)


def test_decoupled_decay_is_adamws_but_comes_after_the_step() -> None:
    """AdamW decays before its step, we after: shift one decay and the two are the same."""
    ours = nn.Parameter(torch.linspace(-1, 1, 5) * (1 - LR * DECAY))
    theirs = nn.Parameter(torch.linspace(-1, 1, 5))
    regularizer = Regularizer([ours], DECAY, decoupled=True)
    other = optim.AdamW([theirs], lr=LR, weight_decay=DECAY)
    step_side_by_side(ours, regularizer, optim.Adam([ours], lr=LR), theirs, other)
    torch.testing.assert_close(ours.detach(), theirs.detach() * (1 - LR * DECAY))


def test_a_fully_masked_weight_still_decays() -> None:
    for decoupled, expected in ((True, 1 - LR * DECAY), (False, 1 - LR * DECAY)):
        p = nn.Parameter(torch.ones(1))
        p.grad = torch.zeros(1)
        regularizer = Regularizer([p], DECAY, decoupled=decoupled)
        regularizer.before_step()
        optim.SGD([p], lr=LR).step()
        regularizer.after_step(LR)
        assert p.item() == pytest.approx(expected)


def test_adam_turns_coupled_decay_of_a_masked_weight_into_a_whole_step() -> None:
    moved = {}
    for decoupled in (True, False):
        p = nn.Parameter(torch.ones(1))
        p.grad = torch.zeros(1)
        regularizer = Regularizer([p], 1e-4, decoupled=decoupled)
        regularizer.before_step()
        optim.Adam([p], lr=LR).step()
        regularizer.after_step(LR)
        moved[decoupled] = 1 - p.item()
    assert moved[True] == pytest.approx(LR * 1e-4, rel=1e-2)
    assert moved[False] == pytest.approx(LR, rel=1e-2)


def test_l1_adds_its_sign_to_the_gradient() -> None:
    p = nn.Parameter(torch.tensor([2.0, -2.0, 0.0]))
    p.grad = torch.zeros(3)
    Regularizer([p], l1=L1).before_step()
    torch.testing.assert_close(p.grad, torch.tensor([L1, -L1, 0.0]))


def test_the_scale_of_the_loss_is_that_of_both_coupled_terms() -> None:
    p = nn.Parameter(torch.tensor([2.0, -4.0]))
    p.grad = torch.zeros(2)
    Regularizer([p], weight_decay=0.5, l1=3.0).before_step(scale=0.1)
    torch.testing.assert_close(p.grad, torch.tensor([0.1 * (1 + 3), -0.1 * (2 + 3)]))


def test_frozen_parameters_are_left_alone() -> None:
    p = nn.Parameter(torch.ones(2), requires_grad=False)
    regularizer = Regularizer([p], DECAY, L1, decoupled=True)
    regularizer.before_step()
    regularizer.after_step(LR)
    assert torch.equal(p, torch.ones(2))


@pytest.mark.parametrize(
    ("weight_decay", "l1"), [(-1.0, 0.0), (0.0, -1.0), (float("inf"), 0.0), (float("nan"), 0.0)]
)
def test_strengths_out_of_range_are_refused(weight_decay: float, l1: float) -> None:
    with pytest.raises(UserError, match="at least 0"):
        Regularizer([], weight_decay, l1)
