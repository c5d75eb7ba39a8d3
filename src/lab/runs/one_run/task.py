"""What a task is: all that a run knows of what it trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from torch import nn

Metrics = dict[str, Any]
"""Flat: numbers by names such as ``train/loss``."""

CONVERGED = "converged"
"""A metric of ``train_epoch`` by which a task ends its run: there is nothing more to learn."""


class DataRecord(Protocol):
    """What a run writes down of its data."""

    @property
    def source(self) -> str:
        """Where the data comes from, in words."""

    def fingerprint(self) -> str:
        """SHA-256 of all values, in hexadecimal."""


class Interrupted(Exception):  # noqa: N818 - no error
    """A task left its epoch because ``asked()`` to; its ``state_dict`` is of where it left."""


class Task(Protocol):
    """Something that learns in epochs. How, with how many loops, optimizers and models, is its own affair.

    A config names it: ``task: package.module.Class``. It is made as ``Class(run, device, **rest)`` with
    the ``RunOptions``, the ``torch.device``, and everything of the config that is not the run's own.
    The arguments' annotations say what those keys must be: ``Section`` for a part with a ``_target_``, a
    dataclass for a part without one, or a plain type. An unknown key is an error.

    A class that says ``shares_steps = True`` may run in several processes, each of which does its part
    (``ilc.distributed.current()``) and ends every epoch with the same numbers.

    One that has ``pictures()`` shows its last evaluation: PNG files by name, which the run writes into its
    folder as ``NAME.png`` and hands to W&B.
    """

    @property
    def model(self) -> nn.Module:
        """What was trained, for ``load_run``."""

    @property
    def data(self) -> DataRecord:
        """What it learns from."""

    @property
    def step(self) -> int:
        """Optimizer steps taken so far."""

    def train_epoch(self) -> Metrics:
        """Learn for one epoch, or for what is left of one; return what its steps saw.

        A task whose epochs are long looks at ``lab.machine.stop_signals.asked()`` between steps. It leaves
        there if it can continue with the same numbers. For other tasks the run waits until the epoch ends.

        Raises:
            UserError: training diverged.
            Interrupted: asked to stop.
        """

    def evaluate(self) -> Metrics:
        """Measure, without changing what follows."""

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """What the summary says beside the selected evaluation; ``warning`` is printed too."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that changes, in plain values and tensors, so that loading it runs no code."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from there; random numbers are the run's affair."""


def pictures_of(task: Task) -> dict[str, bytes]:
    """What a task shows of its last evaluation, PNG files by name; nothing, where it has none."""
    pictures: Callable[[], dict[str, bytes]] = getattr(task, "pictures", dict)
    return pictures()
