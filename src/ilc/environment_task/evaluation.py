"""Risk and accuracy of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.data import Split
from ilc.objectives import Risk

EXAMPLES_AT_ONCE = 4096
NUMBERS_AT_ONCE = 2**20
"""In the inputs of one batch: large images come in smaller batches."""


@torch.no_grad()
def evaluate(model: nn.Module, split: Split, risk: Risk) -> dict[str, float]:
    """Averages over the examples, in evaluation mode.

    Args:
        model: put back into its mode afterwards.
        split: moved to the model's device batch by batch.
        risk: what ``loss`` averages; it says which targets are classes.

    Returns:
        ``loss``, and the same under the risk's second name if it has one; for targets that are classes
        ``accuracy``, and ``accuracy_NAME`` for every part of the split.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    loss = torch.zeros((), device=device, dtype=torch.float64)
    correct: list[Tensor] = []
    size = min(EXAMPLES_AT_ONCE, max(1, NUMBERS_AT_ONCE // split.inputs[0].numel()))
    for x, y in zip(torch.split(split.inputs, size), torch.split(split.targets, size), strict=True):
        inputs, targets = x.to(device), y.to(device)
        outputs = model(inputs)
        loss += risk(outputs, targets).double() * len(inputs)
        classes = risk.true_classes(targets)
        if classes is not None:
            correct.append(outputs.argmax(dim=1) == classes)
    model.train(was_training)
    metrics = {"loss": float(loss) / len(split.inputs)}
    if risk.also_reported_as is not None:
        metrics[risk.also_reported_as] = metrics["loss"]
    if correct:
        hits = torch.cat(correct)
        metrics["accuracy"] = int(hits.sum()) / len(hits)
        for name, part in split.parts.items():
            metrics[f"accuracy_{name}"] = int(hits[part.to(device)].sum()) / max(1, int(part.sum()))
    return metrics
