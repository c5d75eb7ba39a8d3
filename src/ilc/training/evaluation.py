"""Risk, accuracy and IRM penalty of a model."""

from __future__ import annotations

import torch
from torch import nn

from ilc.data import Environments, Split
from ilc.gradients import RiskFunction
from ilc.objectives.irm import slope

EXAMPLES_AT_ONCE = 4096


@torch.no_grad()
def evaluate(model: nn.Module, split: Split, risk: RiskFunction) -> dict[str, float]:
    """``loss``, and ``accuracy`` for class targets, averaged over the examples, in evaluation mode."""
    was_training = model.training
    model.eval()
    loss = torch.zeros((), device=split.inputs.device, dtype=torch.float64)
    correct = torch.zeros((), device=split.inputs.device, dtype=torch.int64)
    is_classification = not split.targets.is_floating_point()
    batches = zip(
        torch.split(split.inputs, EXAMPLES_AT_ONCE), torch.split(split.targets, EXAMPLES_AT_ONCE), strict=True
    )
    for inputs, targets in batches:
        outputs = model(inputs)
        loss += risk(outputs, targets).double() * len(inputs)
        if is_classification:
            correct += (outputs.argmax(dim=1) == targets).sum()
    model.train(was_training)
    n = len(split.inputs)
    metrics = {"loss": float(loss) / n}
    if is_classification:
        metrics["accuracy"] = int(correct) / n
    return metrics


@torch.no_grad()
def evaluate_penalty(model: nn.Module, data: Environments, risk: RiskFunction) -> float:
    """The IRM penalty, squared norm, of all training examples: mean over the environments, unscaled."""
    was_training = model.training
    model.eval()
    penalties = []
    for inputs, targets in zip(data.inputs, data.targets, strict=True):
        total = torch.zeros((), device=inputs.device, dtype=torch.float64)
        batches = zip(inputs.split(EXAMPLES_AT_ONCE), targets.split(EXAMPLES_AT_ONCE), strict=True)
        for x, y in batches:
            # The slope of a mean over examples is the mean of their slopes.
            total += slope(model(x), y, risk).double() * len(x)
        penalties.append((total / len(inputs)).square())
    model.train(was_training)
    return float(torch.stack(penalties).mean())
