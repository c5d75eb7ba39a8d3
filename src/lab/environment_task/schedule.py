"""The options of the section ``trainer`` that belong to the task with environment gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class Schedule:
    """How the learning rate falls, and what is measured.

    Attributes:
        milestones: fractions of ``max_epochs`` after which the learning rate falls; see ``drops``.
        lr_decay: the factor by which it then falls.
        steps_per_epoch: the largest number of steps in an epoch, which may then see a part of the data
            only; None for one pass over the data.
        several_passes: whether an epoch goes over the data again until it has ``steps_per_epoch`` steps. A
            smaller batch at the end of a pass is then left out.
        stop_at_loss: the training risk at which the run ends, also in the middle of an epoch; None for no
            limit.
        evaluation_examples: the largest number of examples of each split that are evaluated, spread evenly
            over the split; None for all. It cuts test splits too.
        training_examples_evaluated: the largest number of training examples that are evaluated, spread
            evenly; None for all. It cuts no other split.
        kept_share_by_parameter: whether the metrics also hold the kept share of every parameter.

    Raises:
        UserError: a number is out of range.
    """

    milestones: tuple[float, ...] = ()
    lr_decay: float = 0.1
    steps_per_epoch: int | None = None
    several_passes: bool = False
    stop_at_loss: float | None = None
    evaluation_examples: int | None = None
    training_examples_evaluated: int | None = None
    kept_share_by_parameter: bool = False

    def __post_init__(self) -> None:
        if not all(0 < milestone < 1 for milestone in self.milestones):
            raise UserError(
                f"trainer.milestones must be fractions of training in (0, 1), got {self.milestones}"
            )
        if not self.lr_decay >= 0:
            raise UserError(f"trainer.lr_decay must be a factor of at least 0, got {self.lr_decay}")
        for name in ("steps_per_epoch", "evaluation_examples", "training_examples_evaluated"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"trainer.{name} must be null or at least 1, got {value}")
        if self.several_passes and self.steps_per_epoch is None:
            raise UserError("trainer.several_passes=true never ends an epoch: add +trainer.steps_per_epoch=N")

    def drops(self, max_epochs: int) -> list[int]:
        """The numbers of epochs after which the learning rate falls, one for each milestone.

        Parts of an epoch do not count, so half of 93 epochs is 46. The first epoch always has the full rate.
        """
        # Without the margin, 0.29 of 100 epochs would be 28, because the product is 28.999999999999996.
        return [max(1, math.floor(milestone * max_epochs + 1e-9)) for milestone in self.milestones]
