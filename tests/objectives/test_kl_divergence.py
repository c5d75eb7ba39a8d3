"""The risk of behavioural cloning, against its definition."""

from __future__ import annotations

import pytest
import torch

from ilc.data import Split
from ilc.environment_task.evaluation import evaluate
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


def test_evaluation_reports_kl_and_agreement() -> None:
    targets = torch.tensor([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    model = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    inputs = targets.log()
    inputs[1] = torch.tensor([1.0, 0.0])  # Wrong about the most likely class.
    metrics = evaluate(model, Split(inputs, targets), kl_divergence)
    assert metrics["accuracy"] == pytest.approx(2 / 3)
    assert metrics["kl"] == metrics["loss"] > 0
    plain = evaluate(model, Split(inputs, targets), RISKS["mean_squared_error"])
    assert plain.keys() == {"loss"}


def test_a_spread_of_examples_covers_the_split() -> None:
    split = Split(torch.arange(10), torch.arange(10))
    assert split.spread(4).inputs.tolist() == [0, 2, 5, 7]
    assert split.spread(None) is split
    assert split.spread(10) is split
