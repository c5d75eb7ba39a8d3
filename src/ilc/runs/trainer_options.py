"""How long a run goes on, what stops it, which evaluation it reports: the ``trainer`` section."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.errors import UserError
from ilc.runs.selection import RULES
from ilc.runs.task import CONVERGED, Metrics


@dataclass(frozen=True)
class TrainerOptions:
    """What the runner itself reads of the section; other keys of it are the task's.

    Attributes:
        max_epochs: epochs of training.
        evaluate_every: epochs between two evaluations (each followed by a checkpoint).
        stop_when_memorised: the paper's rule to save time, which looks at test accuracy: stop
            when train accuracy is above 97 % with test accuracy below 60 %.
        stop_below: training accuracy below which a run is given up once half of its epochs are over;
            None for never. Deviation: ours, to save time in searches; it looks at no test data.
        selection: the rule that chooses the evaluation which the summary reports.

    Raises:
        UserError: a number out of range.
    """

    max_epochs: int
    evaluate_every: int = 1
    stop_when_memorised: bool = False
    stop_below: float | None = None
    selection: str = "last"

    def __post_init__(self) -> None:
        if self.max_epochs < 1 or self.evaluate_every < 1:
            raise UserError(
                "trainer.max_epochs and trainer.evaluate_every must be at least 1, "
                f"got {self.max_epochs} and {self.evaluate_every}"
            )
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise UserError(
                f"trainer.stop_below must be null or an accuracy in [0, 1], got {self.stop_below}"
            )
        if self.selection not in RULES:
            raise UserError(f"trainer.selection must be one of {', '.join(RULES)}, got {self.selection!r}")

    def reason_to_stop(self, metrics: Metrics) -> str | None:
        """``converged``, ``memorised``, ``hopeless`` or None: the rule that applies to an evaluation."""
        if metrics.get(CONVERGED):
            return "converged"
        train = metrics.get("train/accuracy")
        if train is None:
            return None
        if self.stop_when_memorised and train > 0.97 and metrics.get("test/accuracy", 1.0) < 0.60:
            return "memorised"
        is_late = 2 * metrics["epoch"] >= self.max_epochs
        if self.stop_below is not None and is_late and train < self.stop_below:
            return "hopeless"
        return None
