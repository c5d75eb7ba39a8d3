"""What a run needs to know of the task that it trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from torch import nn

Metrics = dict[str, Any]
"""Numbers by names such as ``train/loss``, without nesting."""

CONVERGED = "converged"
"""A metric of ``train_epoch``.

A task that returns it ends its run, because there is nothing more to learn.
"""


class DataRecord(Protocol):
    """The data of a task, as the run records it."""

    @property
    def source(self) -> str:
        """Where the data comes from, in words."""

    def fingerprint(self) -> str:
        """SHA-256 of all values, in hexadecimal."""


class Interrupted(Exception):  # noqa: N818 - no error
    """A task left its epoch because ``stop_requested()``; its ``state_dict`` holds the state at that step."""


class Task(Protocol):
    """Something that learns in epochs. It decides itself how many loops, optimizers and models it uses.

    A config names the class: ``task: package.module.Class``. The run calls ``Class(run, device,
    **arguments)`` with the ``RunOptions``, the ``torch.device``, and the keys of the config that are not
    the run's own. The annotation of an argument says what its key must be: ``Section`` for a section with a
    ``_target_``, a dataclass for a section without one, or a plain type. An unknown key is an error.

    If two objects have their options in one section, the second one has an argument of its own, annotated
    ``Annotated[Section, OptionsIn(KEY, Class)]``; see ``lab.configuration.section``.

    A class with ``shares_steps = True`` may run in several processes. Each does its part of every step
    (``ilc.distributed.current()``), and all end every epoch with the same numbers.

    A class with a method ``pictures()`` shows its last evaluation: the method returns PNG files by name.
    The run writes them into its folder as ``NAME.png`` and passes them to W&B.
    """

    @property
    def model(self) -> nn.Module:
        """The model that is trained; ``load_run`` returns it."""

    @property
    def data(self) -> DataRecord:
        """The data that the task learns from."""

    @property
    def step(self) -> int:
        """The number of optimizer steps so far."""

    def train_epoch(self) -> Metrics:
        """Train for one epoch, or for the rest of an epoch that was begun; return the metrics of its steps.

        A task whose epochs are long looks at ``lab.machine.stop_signals.stop_requested()`` between steps.
        It leaves there if it can continue with the same numbers. For other tasks the run waits until the
        epoch ends.

        Raises:
            DivergedError: training diverged.
            Interrupted: asked to stop.
        """

    def evaluate(self) -> Metrics:
        """Measure the model. This must not change the training that follows."""

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """More entries for the summary, beside the selected evaluation.

        The entry ``warning`` is also printed.
        """

    def state_dict(self) -> dict[str, Any]:
        """Everything that training changes, as plain values and tensors, so that loading it runs no code."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state. The run itself restores the random number generators."""


def pictures_of(task: Task) -> dict[str, bytes]:
    """The PNG files, by name, that show the last evaluation of a task; empty if the task has no pictures."""
    pictures: Callable[[], dict[str, bytes]] = getattr(task, "pictures", dict)
    return pictures()
