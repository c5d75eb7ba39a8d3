"""The risk of behavioural cloning, against its definition."""

from __future__ import annotations

import pytest
import torch

from ilc.objectives import RISKS

kl_divergence = RISKS["kl_divergence"]


def test_equals_the_sum_over_classes() -> None:
    outputs = torch.randn(6, 4, dtype=torch.float64)
    targets = torch.rand(6, 4, dtype=torch.float64)
    targets /= targets.sum(dim=1, keepdim=True)
    slow = 0.0
    for logits, p in zip(outputs, targets, strict=True):
        q = logits.exp() / logits.exp().sum()
        slow += sum(float(p[c] * (p[c] / q[c]).log()) for c in range(4)) / 6
    assert float(kl_divergence(outputs, targets)) == pytest.approx(slow, rel=1e-10)
    assert float(kl_divergence(targets.log(), targets)) == pytest.approx(0, abs=1e-12)


def test_a_target_of_zero_adds_nothing() -> None:
    targets = torch.tensor([[1.0, 0.0]])
    assert float(kl_divergence(torch.zeros(1, 2), targets)) == pytest.approx(0.6931472)
