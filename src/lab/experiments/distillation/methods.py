"""The methods: each defines what is added to the student's loss on the label."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

from torch import Tensor, nn

from ilc.errors import UserError
from lab.experiments.distillation.examples import Examples
from lab.experiments.distillation.problem import Problem


class Method(Protocol):
    """A method: a student, possibly a teacher, and the student's loss."""

    student: nn.Module
    teacher: nn.Module | None
    learns_to_teach: bool

    def loss(self, outputs: Tensor, hidden: Any, examples: Examples, signal: Any) -> Tensor:
        """Return the training loss per example, ``[R, B]``."""


class NoTeacher:
    """A method without a teacher: the student learns only from the label.

    Args:
        problem: problem to learn.
        others: weights that other methods use.
    """

    teacher: nn.Module | None = None
    learns_to_teach = False

    def __init__(self, problem: Problem, **others: Any) -> None:
        self.problem, self.student = problem, problem.student()

    def loss(self, outputs: Tensor, hidden: Any, examples: Examples, signal: Any) -> Tensor:
        """Return the loss on the label."""
        return self.problem.label_loss(outputs, examples.targets)


class EntropyBonus(NoTeacher):
    """The loss on the label minus ``entropy_weight`` times the entropy of the outputs (thesis, task B)."""

    def __init__(self, problem: Problem, entropy_weight: float, **others: Any) -> None:
        super().__init__(problem)
        _check_weight("entropy_bonus", "entropy_weight", entropy_weight)
        self.weight = entropy_weight
        if not hasattr(problem, "entropy"):
            raise UserError(
                "method=entropy_bonus needs a problem whose outputs are classes: choose dataset=noisy_labels"
            )

    def loss(self, outputs: Tensor, hidden: Any, examples: Examples, signal: Any) -> Tensor:
        """Return the loss on the label minus the weighted entropy."""
        entropy: Tensor = self.problem.entropy(outputs)  # type: ignore[attr-defined]
        return super().loss(outputs, hidden, examples, signal) - self.weight * entropy


class Auxiliary(NoTeacher):
    """The loss on the label plus that of a head that predicts the privileged data (thesis, section 4.4.3)."""

    def __init__(self, problem: Problem, auxiliary_weight: float, **others: Any) -> None:
        super().__init__(problem)
        _check_weight("auxiliary", "auxiliary_weight", auxiliary_weight)
        self.weight = auxiliary_weight
        if not hasattr(problem, "auxiliary_head"):
            raise UserError(
                "method=auxiliary needs a problem with a head that predicts the privileged data: choose "
                "dataset=mujoco_returns"
            )
        self.student = _TwoHeads(self.student, problem.auxiliary_head())

    def loss(self, outputs: Tensor, hidden: Any, examples: Examples, signal: Any) -> Tensor:
        """Return the loss on the label plus the weighted squared error on the privileged data."""
        wanted = examples.privileged.flatten(2)
        error: Tensor = (hidden - wanted).square().mean(-1)
        return super().loss(outputs, hidden, examples, signal) + self.weight * error


class Distill(NoTeacher):
    """The loss on the label plus the teaching loss, with a teacher that learns what to ask for."""

    learns_to_teach = True

    def __init__(self, problem: Problem, teaching_weight: float, **others: Any) -> None:
        super().__init__(problem)
        self.weight, self.teacher = teaching_weight, problem.teacher()

    def loss(self, outputs: Tensor, hidden: Any, examples: Examples, signal: Any) -> Tensor:
        """Return the loss on the label plus the weighted teaching loss."""
        label = super().loss(outputs, hidden, examples, signal)
        return label + self.weight * self.problem.teaching_loss(hidden, signal)


class FixedTeacher(Distill):
    """A method with a teacher that does not learn (thesis, sections 4.4.2 and 4.4.4).

    The teacher keeps its random initial weights, or it is an oracle.
    """

    learns_to_teach = False

    def __init__(self, problem: Problem, fixed_teacher: str, **others: Any) -> None:
        super().__init__(problem, **others)
        if fixed_teacher == "oracle" and hasattr(problem, "oracle_teacher"):
            self.teacher = problem.oracle_teacher()
        elif fixed_teacher != "random":
            raise UserError(
                f"fixed_teacher must be random, or oracle with dataset=game_of_life, got {fixed_teacher!r}"
            )


class _TwoHeads(nn.Module):
    """A student with a second head on its hidden activations."""

    def __init__(self, student: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.student, self.head = student, head

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        outputs, hidden = self.student(inputs)
        return outputs, self.head(hidden)


def _check_weight(method: str, name: str, weight: float) -> None:
    """Refuse a weight that turns the method against its aim, and warn of one that makes it plain training."""
    if weight < 0:
        raise UserError(f"{name} must be at least 0, got {weight:g}: take 0 or more")
    if weight == 0:
        warnings.warn(
            f"method={method} with {name}=0 trains as method=no_teacher does: give {name} a value above 0",
            stacklevel=3,
        )


METHODS: dict[str, Callable[..., Method]] = {
    "distill": Distill,
    "no_teacher": NoTeacher,
    "auxiliary": Auxiliary,
    "fixed_teacher": FixedTeacher,
    "entropy_bonus": EntropyBonus,
}
"""Methods by the name used in configs."""
