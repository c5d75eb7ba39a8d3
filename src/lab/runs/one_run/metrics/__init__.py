"""Metrics of every run: each module in this folder adds numbers to every evaluation.

A module ``NAME.py`` has ``measure(task) -> dict[str, float]``. Nothing else is needed.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from ilc.errors import UserError

if TYPE_CHECKING:
    from lab.runs.one_run.task import Metrics, Task


def with_every_metric(task: Task) -> Metrics:
    """The task's own evaluation, and what the modules of this folder measure.

    Raises:
        UserError: two of them give a number the same name.
    """
    metrics = task.evaluate()
    for module in pkgutil.iter_modules(__path__):
        added = import_module(f"{__name__}.{module.name}").measure(task)
        taken = sorted(added.keys() & metrics.keys())
        if taken:
            raise UserError(
                f"the run already has a metric {taken[0]}: rename the one that {module.name} measures"
            )
        metrics = {**metrics, **added}
    return metrics
