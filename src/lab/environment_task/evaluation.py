"""Risk and accuracy of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc._processes import ONE_PROCESS, Processes
from ilc.objectives import Risk
from lab.data import Split

EXAMPLES_AT_ONCE = 4096
NUMBERS_AT_ONCE = 2**20
"""In the inputs of one batch: large images come in smaller batches."""


@torch.no_grad()
def evaluate(
    model: nn.Module, split: Split, risk: Risk, processes: Processes = ONE_PROCESS
) -> dict[str, float]:
    """Averages over the examples, in evaluation mode.

    Args:
        model: put back into its mode afterwards.
        split: moved to the model's device batch by batch.
        risk: what ``loss`` averages; it says which targets are classes.
        processes: each takes its part of the examples, all return the same numbers.

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
    mine = processes.part(len(split.inputs))
    for x, y in zip(
        torch.split(split.inputs[mine], size), torch.split(split.targets[mine], size), strict=True
    ):
        if not len(x):
            break  # More processes than examples: even nothing splits into one empty batch.
        inputs, targets = split.prepared(x.to(device)), y.to(device)
        outputs = model(inputs)
        loss += risk(outputs, targets).double() * len(inputs)
        classes = risk.true_classes(targets)
        if classes is not None:
            correct.append(outputs.argmax(dim=1) == classes)
    model.train(was_training)
    are_classes = risk.true_classes(split.targets[:0]) is not None
    hits = torch.zeros(len(split.inputs) if are_classes else 0, dtype=torch.int32, device=device)
    if correct:
        hits[mine] = torch.cat(correct).int()
    processes.sum_(loss, hits)
    metrics = {"loss": float(loss) / len(split.inputs)}
    if risk.also_reported_as is not None:
        metrics[risk.also_reported_as] = metrics["loss"]
    if are_classes:
        metrics["accuracy"] = int(hits.sum()) / len(hits)
        for name, part in split.parts.items():
            metrics[f"accuracy_{name}"] = int(hits[part.to(device)].sum()) / max(1, int(part.sum()))
    return metrics
