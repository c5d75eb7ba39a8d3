"""The optimizer of a run."""

from __future__ import annotations

from collections.abc import Sequence

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
