"""Task A: the privileged data determine the label but cannot be predicted from the input (thesis, 4.4.1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ilc.errors import UserError
from lab.experiments.distillation.examples import Replicas
from lab.experiments.distillation.replicas import Linear, Perceptron, PerceptronTeacher
from lab.experiments.distillation.teaching_losses import squared_error


class NoisyPrivileged:
    """The problem of a label ``[h1 > 0] XOR [h2 > 0]`` with ``h = A x``.

    Privileged data are two random signs s, and ``s * h``. Given x, they are 0 on average, so that predicting
    them teaches nothing. The teacher has to learn to undo the signs. It asks for the student's first hidden
    layer.

    Args:
        seed: seed of the first replica.
        n_seeds: number of replicas of every size.
        n_train: sizes of the training set.
        dimensions: D, the dimensions of the inputs.
        n_test: number of test examples.
        student_units: units of the student's hidden layers; the first layer has no activation.
        teacher_units: units of the teacher's hidden layers.

    Raises:
        UserError: there is no seed or no hidden layer, or there are too few examples.
    """

    def __init__(
        self,
        seed: int,
        n_seeds: int,
        n_train: Sequence[int],
        dimensions: int = 128,
        n_test: int = 1000,
        student_units: Sequence[int] = (32, 128),
        teacher_units: Sequence[int] = (256, 256),
    ) -> None:
        if not student_units:
            raise UserError(
                "dataset.student_units must give the number of units of at least one hidden layer, got []"
            )
        self.replicas = Replicas(seed, n_seeds, n_train)
        self.dimensions = dimensions
        self.student_units, self.teacher_units = list(student_units), list(teacher_units)
        self.data = self.replicas.data(self._draw, n_test, "noisy privileged data (generated)")

    def _draw(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        bound = self.dimensions**-0.5
        projection = (torch.rand(2, self.dimensions, generator=generator) * 2 - 1) * bound
        inputs = torch.randn(n, self.dimensions, generator=generator)
        signs = torch.randint(0, 2, (n, 2), generator=generator) * 2.0 - 1
        hidden = inputs @ projection.T
        targets = (hidden > 0).sum(1).remainder(2).float()
        return inputs, torch.cat([signs, signs * hidden], 1), targets

    def student(self) -> nn.Module:
        """Return a student from ``[R, B, D]`` to logits ``[R, B]`` and hidden layer 1, ``[R, B, K]``."""
        return _Student(self.dimensions, self.student_units, self.replicas.generators("student"))

    def teacher(self) -> nn.Module:
        """Return a teacher from ``[R, S, B, 4]`` to S signals ``[R, B, K]``."""
        sizes = [4, *self.teacher_units, self.student_units[0]]
        return PerceptronTeacher(sizes, self.replicas.generators("teacher"))

    def label_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the binary cross-entropy."""
        return F.binary_cross_entropy_with_logits(outputs, targets, reduction="none")

    def teaching_loss(self, hidden: Tensor, signal: Tensor) -> Tensor:
        """Return the squared error on the first hidden layer."""
        return squared_error(hidden, signal)

    def measures(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return the accuracy and the loss."""
        right = (outputs > 0) == (targets > 0.5)
        return {"accuracy": right.float(), "loss": self.label_loss(outputs, targets)}


class _Student(nn.Module):
    def __init__(self, dimensions: int, units: list[int], generators: list[torch.Generator]) -> None:
        super().__init__()
        self.first = Linear(dimensions, units[0], generators)
        self.rest = Perceptron([*units, 1], generators)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.first(inputs)
        return self.rest(hidden).squeeze(-1), hidden
