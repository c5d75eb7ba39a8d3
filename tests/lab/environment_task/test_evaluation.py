"""What an evaluation reports, against its definition."""

from __future__ import annotations

import pytest
import torch

from ilc.objectives import RISKS
from lab.data import Split
from lab.environment_task import evaluation
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


def test_a_smaller_last_batch_counts_by_its_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    inputs, targets = torch.randn(10, 3), torch.randint(0, 2, (10,))
    split = Split(inputs, targets, {"first": torch.arange(10) < 3})
    whole = evaluate(model, split, RISKS["cross_entropy"])
    monkeypatch.setattr(evaluation, "EXAMPLES_AT_ONCE", 4)
    in_parts = evaluate(model, split, RISKS["cross_entropy"])
    assert in_parts == pytest.approx(whole)
    outputs = model.eval()(inputs).detach()  # Without dropout.
    assert whole["loss"] == pytest.approx(float(torch.nn.functional.cross_entropy(outputs, targets)))
    assert whole["accuracy_first"] == pytest.approx(float((outputs.argmax(1) == targets)[:3].float().mean()))
