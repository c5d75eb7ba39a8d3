"""What the task of environment gradients reads of the ``trainer`` section."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class Schedule:
    """The learning rate's course, and what is measured.

    Attributes:
        milestones: fractions of ``max_epochs`` after which the learning rate falls.
        lr_decay: by which factor it then falls.
        steps_per_epoch: at most this many steps make an epoch, which then sees a part of the data; None for
            one pass over it.
        stop_at_loss: training risk at which the run ends, in the middle of an epoch too; None for none.
        evaluation_examples: at most this many examples of each split are evaluated, spread evenly
            over it; None for all.
        kept_share_by_parameter: whether the metrics hold the kept share of every parameter too.

    Raises:
        UserError: a number out of range.
    """

    milestones: tuple[float, ...] = ()
    lr_decay: float = 0.1
    steps_per_epoch: int | None = None
    stop_at_loss: float | None = None
    evaluation_examples: int | None = None
    kept_share_by_parameter: bool = False

    def __post_init__(self) -> None:
        if not all(0 < milestone < 1 for milestone in self.milestones):
            raise UserError(f"trainer.milestones are fractions of training in (0, 1), got {self.milestones}")
        if not self.lr_decay >= 0:
            raise UserError(f"trainer.lr_decay is a factor of at least 0, got {self.lr_decay}")
        for name in ("steps_per_epoch", "evaluation_examples"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"trainer.{name} must be null or at least 1, got {value}")
