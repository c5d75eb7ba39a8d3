"""The optimizer of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn, optim

from ilc.errors import UserError
from lab.configuration.section import Section
from lab.environment_task.method import TrainingMethod


def build_optimizer(
    section: Section, parameters: Sequence[nn.Parameter], method: TrainingMethod
) -> optim.Optimizer:
    """Build the optimizer of the config, or the one that the method has instead.

    Raises:
        UserError: the optimizer refuses an option, or the method cannot train with this optimizer.
    """
    if section.options.get("lr", 1) <= 0:
        raise UserError(f"optimizer.lr must be above 0, got {section.options['lr']}")
    # The task's regularizer does the weight decay. AdamW would otherwise add its default one.
    configured: optim.Optimizer = section.build(parameters, kinds=(optim.Optimizer,), weight_decay=0.0)
    return method.optimizer(parameters, configured)


def load_optimizer(optimizer: optim.Optimizer, state: dict[str, Any]) -> None:
    """Continue from a saved state, which may come from another device.

    ``capturable`` says whether the optimizer counts its steps on a GPU. It stays as this run needs it.
    """
    groups = [
        {key: own[key] if key == "capturable" else value for key, value in saved.items()}
        for own, saved in zip(optimizer.param_groups, state["param_groups"], strict=True)
    ]
    optimizer.load_state_dict({**state, "param_groups": groups})
