"""Whether training changed the parameters at all. A run without any change looks like other runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

from lab.runs.one_run.task import Task


def weights_sha256(task: Task) -> str | None:
    """The SHA-256 of the trainable parameters in the state of the task; None if the state does not hold them.

    Buffers are left out, because batch statistics change without any optimizer step.
    """
    state = task.state_dict().get("model")
    names = [name for name, value in task.model.named_parameters() if value.requires_grad]
    if not isinstance(state, Mapping) or not names or not all(name in state for name in names):
        return None
    digest = hashlib.sha256()
    for name in names:
        value: Tensor = state[name].detach().cpu().contiguous()
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def nothing_moved(n_steps: int) -> str:
    """The warning for a run whose parameters are the same as before its first step."""
    return (
        f"nothing moved: after {n_steps} steps every parameter still has its value from before the first "
        "step. Perhaps the updates are zero (see mask/density), they are too small for the parameters "
        "(raise optimizer.lr), or the squares of the gradients are outside the range of float32 (scale the "
        "data)"
    )
