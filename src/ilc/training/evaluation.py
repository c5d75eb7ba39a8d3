"""Risk, accuracy and IRM penalty of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.data import Environments, Split
from ilc.gradients import RiskFunction
from ilc.objectives.irm import slope

EXAMPLES_AT_ONCE = 4096
NUMBERS_AT_ONCE = 2**20


@torch.no_grad()
def evaluate(model: nn.Module, split: Split, risk: RiskFunction) -> dict[str, float]:
    """``loss``, and ``accuracy`` for class targets, averaged over the examples, in evaluation mode.

    For every part of the split ``accuracy_NAME`` too.
    """
    was_training = model.training
    model.eval()
    loss = torch.zeros((), device=split.inputs.device, dtype=torch.float64)
    correct: list[Tensor] = []
    few = min(EXAMPLES_AT_ONCE, max(1, NUMBERS_AT_ONCE // split.inputs[0].numel()))
    batches = zip(torch.split(split.inputs, few), torch.split(split.targets, few), strict=True)
    for inputs, targets in batches:
        outputs = model(inputs)
        loss += risk(outputs, targets).double() * len(inputs)
        if not targets.is_floating_point():
            correct.append(outputs.argmax(dim=1) == targets)
    model.train(was_training)
    metrics = {"loss": float(loss) / len(split.inputs)}
    if correct:
        hits = torch.cat(correct)
        metrics["accuracy"] = int(hits.sum()) / len(hits)
        for name, part in split.parts.items():
            metrics[f"accuracy_{name}"] = int(hits[part].sum()) / max(1, int(part.sum()))
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
