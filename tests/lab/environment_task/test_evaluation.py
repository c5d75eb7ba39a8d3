"""What an evaluation reports, against its definition."""

from __future__ import annotations

import pytest
import torch

from ilc.objectives import RISKS
from lab.data import Split
from lab.environment_task.evaluation import evaluate


def test_evaluation_reports_kl_and_agreement() -> None:
    targets = torch.tensor([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    model = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    inputs = targets.log()
    inputs[1] = torch.tensor([1.0, 0.0])  # Wrong about the most likely class.
    metrics = evaluate(model, Split(inputs, targets), RISKS["kl_divergence"])
    assert metrics["accuracy"] == pytest.approx(2 / 3)
    assert metrics["kl"] == metrics["loss"] > 0
    plain = evaluate(model, Split(inputs, targets), RISKS["mean_squared_error"])
    assert plain.keys() == {"loss"}
