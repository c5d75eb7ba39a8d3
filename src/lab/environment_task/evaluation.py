"""Risk and accuracy of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.distributed import ONE_PROCESS, Processes
from ilc.objectives import Risk
from lab.data import Split

EXAMPLES_AT_ONCE = 4096
NUMBERS_AT_ONCE = 2**20
"""The most numbers in the inputs of one batch, so that large images come in smaller batches."""


@torch.no_grad()
def evaluate(
    model: nn.Module, split: Split, risk: Risk, processes: Processes = ONE_PROCESS
) -> dict[str, float]:
    """Measure averages over the examples of a split, in evaluation mode.

    Args:
        model: the model; afterwards it is in the same mode as before.
        split: the examples; they are moved to the device of the model batch by batch.
        risk: the risk that ``loss`` averages; it also says whether the targets are classes.
        processes: each process evaluates a part of the examples, and all return the same numbers.

    Returns:
        ``loss``, and the same value under the second name of the risk, if it has one. If the targets are
        classes, also ``accuracy``, and ``accuracy_NAME`` for every named part of the split.
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
            break  # There are more processes than examples: this one has an empty batch.
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
