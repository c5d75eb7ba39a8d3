"""Risk, accuracy and IRM penalty of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.data import Environments, Split
from ilc.gradients import RiskFunction
from ilc.objectives.irm import slope
from ilc.objectives.risks import kl_divergence

EXAMPLES_AT_ONCE = 4096
NUMBERS_AT_ONCE = 2**20
"""In the inputs of one batch: large images come in smaller batches."""


@torch.no_grad()
def evaluate(model: nn.Module, split: Split, risk: RiskFunction) -> dict[str, float]:
    """Averages over the examples, in evaluation mode.

    Args:
        model: put back into its mode afterwards.
        split: moved to the model's device batch by batch.
        risk: what ``loss`` averages.

    Returns:
        ``loss``; ``accuracy`` for class targets, and ``accuracy_NAME`` for every part of the split; for
        target distributions ``kl``, the same as the loss, and as ``accuracy`` the agreement with their
        most likely class.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    loss = torch.zeros((), device=device, dtype=torch.float64)
    correct: list[Tensor] = []
    are_distributions = risk is kl_divergence
    size = min(EXAMPLES_AT_ONCE, max(1, NUMBERS_AT_ONCE // split.inputs[0].numel()))
    for x, y in zip(torch.split(split.inputs, size), torch.split(split.targets, size), strict=True):
        inputs, targets = x.to(device), y.to(device)
        outputs = model(inputs)
        loss += risk(outputs, targets).double() * len(inputs)
        if are_distributions or not targets.is_floating_point():
            classes = targets.argmax(dim=1) if are_distributions else targets
            correct.append(outputs.argmax(dim=1) == classes)
    model.train(was_training)
    metrics = {"loss": float(loss) / len(split.inputs)}
    if are_distributions:
        metrics["kl"] = metrics["loss"]
    if correct:
        hits = torch.cat(correct)
        metrics["accuracy"] = int(hits.sum()) / len(hits)
        for name, part in split.parts.items():
            metrics[f"accuracy_{name}"] = int(hits[part.to(device)].sum()) / max(1, int(part.sum()))
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
