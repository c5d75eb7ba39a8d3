"""The cautious optimizer against a rewriting component by component."""

from __future__ import annotations

import math
from copy import deepcopy

import pytest
import torch

from ilc.optim import CautiousAdam


def oracle(start: list[float], steps: list[list[float]], lr: float, b1: float, b2: float) -> list[float]:
    p, m, v = list(start), [0.0] * len(start), [0.0] * len(start)
    for t, g in enumerate(steps, 1):
        m = [b1 * a + (1 - b1) * b for a, b in zip(m, g, strict=True)]
        v = [b2 * a + (1 - b2) * b * b for a, b in zip(v, g, strict=True)]
        keep = [a * b > 0 for a, b in zip(m, g, strict=True)]
        share = max(sum(keep) / len(keep), 1e-3)
        for i, kept in enumerate(keep):
            if kept:
                u = m[i] / (1 - b1**t) / (math.sqrt(v[i] / (1 - b2**t)) + 1e-8)
                p[i] -= lr * u / share
    return p


def test_steps_are_those_of_the_definition() -> None:
    torch.manual_seed(0)
    start, steps = torch.randn(50, dtype=torch.float64), torch.randn(9, 50, dtype=torch.float64)
    p = torch.nn.Parameter(start.clone())
    optimizer = CautiousAdam([p], lr=0.1)
    for gradient in steps:
        p.grad = gradient.clone()
        optimizer.step()
    expected = oracle(start.tolist(), steps.tolist(), 0.1, 0.9, 0.999)
    torch.testing.assert_close(p.detach(), torch.tensor(expected, dtype=torch.float64))
    plain = torch.nn.Parameter(start.clone())
    other = torch.optim.Adam([plain], lr=0.1)
    for gradient in steps:
        plain.grad = gradient.clone()
        other.step()
    assert not torch.allclose(plain, p, rtol=1e-2)


def test_without_momentum_it_is_adam() -> None:
    torch.manual_seed(0)
    one, two = (torch.nn.Parameter(torch.ones(20)) for _ in range(2))
    optimizers = CautiousAdam([one], 0.1, (0.0, 0.9)), torch.optim.Adam([two], 0.1, (0.0, 0.9))
    for _ in range(4):
        one.grad = torch.randn(20)
        two.grad = one.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(one, two)


def test_a_gradient_whose_square_is_zero_in_single_precision_still_agrees() -> None:
    """If it did not, the steps of all other components would be twice as long."""
    one, two = (torch.nn.Parameter(torch.ones(4)) for _ in range(2))
    one.grad = torch.tensor([1.0, -1.0, 1e-25, -1e-25])
    two.grad = one.grad.clone()
    CautiousAdam([one], 0.1, (0.0, 0.9)).step()
    torch.optim.Adam([two], 0.1, (0.0, 0.9)).step()
    torch.testing.assert_close(one, two)


def test_where_nothing_agrees_nothing_moves() -> None:
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = CautiousAdam([p], 0.1)
    p.grad = torch.ones(3)
    optimizer.step()
    before = p.detach().clone()
    p.grad = -torch.full((3,), 0.1)
    optimizer.step()
    assert torch.equal(p, before)


def test_a_gradient_of_exactly_zero_does_not_agree() -> None:
    """Half of the components agree, so their steps are twice as long."""
    p = torch.nn.Parameter(torch.zeros(4))
    p.grad = torch.tensor([1.0, -1.0, 0.0, 0.0])
    CautiousAdam([p], 0.1).step()
    torch.testing.assert_close(p.detach(), torch.tensor([-0.2, 0.2, 0.0, 0.0]))


def test_a_closure_is_called_once_and_its_loss_returned() -> None:
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = CautiousAdam([p], 0.1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = p.square().sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == pytest.approx(3.0)
    torch.testing.assert_close(p.detach(), torch.full((3,), 0.9))


def test_continues_from_its_state() -> None:
    torch.manual_seed(0)
    one, two = (torch.nn.Parameter(torch.ones(5)) for _ in range(2))
    first, second = CautiousAdam([one], 0.1), CautiousAdam([two], 0.1)
    one.grad = torch.randn(5)
    first.step()
    two.data.copy_(one.data)
    second.load_state_dict(deepcopy(first.state_dict()))
    one.grad = torch.randn(5)
    two.grad = one.grad.clone()
    first.step()
    second.step()
    assert torch.equal(one, two)
