"""Task B: the privileged data determine the distribution of the noisy label (thesis, 4.4.1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lab.experiments.distillation.examples import Replicas
from lab.experiments.distillation.replicas import Perceptron, PerceptronTeacher
from lab.experiments.distillation.teaching_losses import kl_on_outputs

HIDDEN, PRIVILEGED = 4, 32
"""The dimensions of the hidden vector ``A x``, one for each class, and of the privileged data."""


class NoisyLabels:
    """The problem of a label ``y`` from ``softmax(c A x)`` with the privileged data ``B A x``.

    The teacher asks for the outputs. The targets ``[R, N, 5]`` hold the class and the class probabilities,
    which only the test measure uses.

    Args:
        seed: seed of the first replica.
        n_seeds: number of replicas of every size.
        n_train: sizes of the training set.
        logits_factor: c; the authors' code has 3, and the thesis does not say it.
        dimensions: D, the dimensions of the inputs.
        n_test: number of test examples.
        student_units: units of the student's hidden layers.
        teacher_units: units of the teacher's hidden layers.

    Raises:
        UserError: there is no seed, or there are too few examples.
    """

    def __init__(
        self,
        seed: int,
        n_seeds: int,
        n_train: Sequence[int],
        logits_factor: float = 3.0,
        dimensions: int = 128,
        n_test: int = 1000,
        student_units: Sequence[int] = (256, 256),
        teacher_units: Sequence[int] = (256, 256),
    ) -> None:
        self.replicas = Replicas(seed, n_seeds, n_train)
        self.dimensions, self.logits_factor = dimensions, logits_factor
        self.student_units, self.teacher_units = list(student_units), list(teacher_units)
        self.data = self.replicas.data(self._draw, n_test, "noisy labels (generated)")

    def _draw(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        def uniform(rows: int, columns: int) -> Tensor:
            values: Tensor = (torch.rand(rows, columns, generator=generator) * 2 - 1) * columns**-0.5
            return values

        projection, view = uniform(HIDDEN, self.dimensions), uniform(PRIVILEGED, HIDDEN)
        inputs = torch.randn(n, self.dimensions, generator=generator)
        hidden = inputs @ projection.T
        probabilities = (self.logits_factor * hidden).softmax(-1)
        drawn = torch.multinomial(probabilities, 1, generator=generator)
        return inputs, hidden @ view.T, torch.cat([drawn.float(), probabilities], 1)

    def student(self) -> nn.Module:
        """Return a student from ``[R, B, D]`` to logits ``[R, B, 4]``.

        It returns the logits twice, because the teacher asks for them too.
        """
        sizes = [self.dimensions, *self.student_units, HIDDEN]
        return _Student(sizes, self.replicas.generators("student"))

    def teacher(self) -> nn.Module:
        """Return a teacher from ``[R, S, B, 32]`` to S signals, each of logits ``[R, B, 4]``."""
        return PerceptronTeacher(
            [PRIVILEGED, *self.teacher_units, HIDDEN], self.replicas.generators("teacher")
        )

    def label_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy with the class that was drawn."""
        return -outputs.log_softmax(-1).gather(-1, targets[..., :1].long()).squeeze(-1)

    def teaching_loss(self, hidden: Tensor, signal: Tensor) -> Tensor:
        """Return the KL divergence of the student's outputs from the teacher's."""
        return kl_on_outputs(hidden, signal)

    def entropy(self, outputs: Tensor) -> Tensor:
        """Return the entropy of the outputs' classes, ``[R, B]``, in nats."""
        logs = outputs.log_softmax(-1)
        entropy: Tensor = -(logs.exp() * logs).sum(-1)
        return entropy

    def measures(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return ``kl`` from the true probabilities, ``loss`` with the drawn classes, and ``accuracy``."""
        drawn, probabilities = targets[..., 0].long(), targets[..., 1:]
        kl = (probabilities * (probabilities.log() - outputs.log_softmax(-1))).sum(-1)
        right = outputs.argmax(-1) == drawn
        return {"kl": kl, "loss": self.label_loss(outputs, targets), "accuracy": right.float()}


class _Student(Perceptron):
    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        outputs = super().forward(inputs)
        return outputs, outputs
