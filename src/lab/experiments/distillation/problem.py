"""What is learned with a teacher: a data set with a privileged part, its student, teacher and losses."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn

from lab.experiments.distillation.examples import ProblemData


class Problem(Protocol):
    """A data set with its networks and losses: what the ``dataset`` section of a config makes.

    Its arguments include ``seed`` and ``n_seeds``; everything leads with the replica (``replicas.py``).
    A student is called with inputs ``[R, B, ...]`` and returns outputs and the activations that its
    teacher may ask for. A teacher is called with the privileged data of S batches, ``[R, S, B, ...]``,
    and returns S signals, whatever ``teaching_loss`` takes.
    """

    data: ProblemData

    def student(self) -> nn.Module:
        """A new student of every replica."""

    def teacher(self) -> nn.Module:
        """A new teacher of every replica."""

    def label_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss on the label per example, ``[R, B]``."""

    def teaching_loss(self, hidden: Any, signal: Any) -> Tensor:
        """Loss on what the teacher asks for per example, ``[R, B]``."""

    def measures(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Measures by name, one value per example, ``[R, B]`` each."""
