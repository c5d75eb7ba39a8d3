"""A problem to learn with a teacher: a data set with privileged data, its student, teacher and losses."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn

from lab.experiments.distillation.examples import ProblemData


class Problem(Protocol):
    """A data set with its networks and losses, which the ``dataset`` section of a config makes.

    Its arguments include ``seed`` and ``n_seeds``. The first axis of every tensor is the replica
    (``replicas.py``).

    A student is called with inputs ``[R, B, ...]``. It returns its outputs and the activations that a teacher
    may ask for. A teacher is called with the privileged data of S batches, ``[R, S, B, ...]``. It returns S
    signals, in any form that ``teaching_loss`` accepts.
    """

    data: ProblemData

    def student(self) -> nn.Module:
        """Return a new student of every replica."""

    def teacher(self) -> nn.Module:
        """Return a new teacher of every replica."""

    def label_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss on the label per example, ``[R, B]``."""

    def teaching_loss(self, hidden: Any, signal: Any) -> Tensor:
        """Return the loss per example, ``[R, B]``, of activations against the teacher's signal."""

    def measures(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return measures by name, each with one value per example, ``[R, B]``."""
