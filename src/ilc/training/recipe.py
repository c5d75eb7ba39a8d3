"""What stays fixed while a run trains."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ilc.aggregators import Aggregator
from ilc.data import Environments
from ilc.errors import UserError
from ilc.gradients import RiskFunction
from ilc.training.selection import RULES


@dataclass(frozen=True)
class TrainerOptions:
    """The ``trainer`` section.

    Attributes:
        max_epochs: epochs of training.
        milestones: fractions of ``max_epochs`` after which the learning rate falls.
        lr_decay: by which factor it then falls.
        evaluate_every: epochs between two evaluations (each followed by a checkpoint).
        stop_when_memorised: the paper's rule to save time, which looks at test accuracy: stop
            when train accuracy is above 97 % with test accuracy below 60 %.
        stop_below: training accuracy below which a run is given up once half of its epochs are over;
            None for never. Deviation: ours, to save time in searches; it looks at no test data.
        selection: the rule that chooses the evaluation which the summary reports.
        evaluation_examples: at most this many examples of each split are evaluated, spread evenly
            over it; None for all.

    Raises:
        UserError: a number out of range.
    """

    max_epochs: int
    milestones: tuple[float, ...]
    lr_decay: float
    evaluate_every: int
    stop_when_memorised: bool
    selection: str = "last"
    stop_below: float | None = None
    evaluation_examples: int | None = None

    def __post_init__(self) -> None:
        if self.max_epochs < 1 or self.evaluate_every < 1:
            raise UserError(
                "trainer.max_epochs and trainer.evaluate_every must be at least 1, "
                f"got {self.max_epochs} and {self.evaluate_every}"
            )
        if not all(0 < milestone < 1 for milestone in self.milestones):
            raise UserError(f"trainer.milestones are fractions of training in (0, 1), got {self.milestones}")
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise UserError(
                f"trainer.stop_below must be null or an accuracy in [0, 1], got {self.stop_below}"
            )
        if self.evaluation_examples is not None and self.evaluation_examples < 1:
            raise UserError(
                f"trainer.evaluation_examples must be null or at least 1, got {self.evaluation_examples}"
            )
        if self.selection not in RULES:
            raise UserError(f"trainer.selection must be one of {', '.join(RULES)}, got {self.selection!r}")

    def reason_to_stop(self, metrics: dict[str, float | int]) -> str | None:
        """``memorised``, ``hopeless`` or None: the stopping rule that applies to an evaluation's metrics."""
        train = metrics.get("train/accuracy")
        if train is None:
            return None
        if self.stop_when_memorised and train > 0.97 and metrics.get("test/accuracy", 1.0) < 0.60:
            return "memorised"
        is_late = 2 * metrics["epoch"] >= self.max_epochs
        if self.stop_below is not None and is_late and train < self.stop_below:
            return "hopeless"
        return None


@dataclass(frozen=True)
class Recipe:
    """Data, risk and how environment gradients are obtained and combined; where it all happens."""

    trainer: TrainerOptions
    data: Environments
    risk: RiskFunction
    aggregator: Aggregator
    gradients: str
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
