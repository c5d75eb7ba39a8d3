"""How long a run goes on, what stops it, which evaluation it reports: the ``trainer`` section."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ilc.errors import UserError
from lab.runs.one_run.selection import RULES
from lab.runs.one_run.task import CONVERGED, Metrics

STILL = 1e-4
"""Share of itself by which a training risk that stands still moves at most."""


@dataclass(frozen=True)
class TrainerOptions:
    """What the runner itself reads of the section; other keys of it are the task's.

    Attributes:
        max_epochs: epochs of training.
        evaluate_every: epochs between two evaluations (each followed by a checkpoint).
        stop_when_memorised: the paper's rule to save time, which looks at test accuracy: stop
            when train accuracy is above 97 % with test accuracy below 60 %.
        stop_when_solved: stop when every training and test example is right. Deviation: ours, to save time
            in searches; it looks at test accuracy, as the paper's rule does.
        stop_when_still: evaluations over which the training risk moved by less than a ten-thousandth, after
            which a run is given up; None for never. Deviation: ours, to save time in searches.
        stop_below: training accuracy below which a run is given up once half of its epochs are over;
            None for never. Deviation: ours, to save time in searches; it looks at no test data.
        selection: the rule that chooses the evaluation which the summary reports.

    Raises:
        UserError: a number out of range.
    """

    max_epochs: int
    evaluate_every: int = 1
    stop_when_memorised: bool = False
    stop_when_solved: bool = False
    stop_when_still: int | None = None
    stop_below: float | None = None
    selection: str = "last"

    def __post_init__(self) -> None:
        if self.max_epochs < 1 or self.evaluate_every < 1:
            raise UserError(
                "trainer.max_epochs and trainer.evaluate_every must be at least 1, "
                f"got {self.max_epochs} and {self.evaluate_every}"
            )
        if self.stop_when_still is not None and self.stop_when_still < 1:
            raise UserError(
                "trainer.stop_when_still must be null or a number of evaluations of at least 1, "
                f"got {self.stop_when_still}"
            )
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise UserError(
                f"trainer.stop_below must be null or an accuracy in [0, 1], got {self.stop_below}"
            )
        if self.selection not in RULES:
            raise UserError(f"trainer.selection must be one of {', '.join(RULES)}, got {self.selection!r}")

    def reason_to_stop(self, evaluations: Sequence[Metrics]) -> str | None:
        """The rule that applies after these evaluations.

        ``converged``, ``memorised``, ``solved``, ``still``, ``hopeless`` or None.
        """
        if not evaluations:
            return None
        metrics = evaluations[-1]
        # Without accuracies no comparison of them holds.
        train, test = (metrics.get(f"{split}/accuracy", math.nan) for split in ("train", "test"))
        is_late = 2 * metrics["epoch"] >= self.max_epochs
        rules = {
            "converged": bool(metrics.get(CONVERGED)),
            "still": self._is_still(evaluations),
            "memorised": self.stop_when_memorised and train > 0.97 and test < 0.60,
            "solved": self.stop_when_solved and train == test == 1,
            "hopeless": self.stop_below is not None and is_late and train < self.stop_below,
        }
        return next((name for name, applies in rules.items() if applies), None)

    def _is_still(self, evaluations: Sequence[Metrics]) -> bool:
        if self.stop_when_still is None:
            return False
        some = evaluations[-self.stop_when_still - 1 :]
        risks = [metrics["train/loss"] for metrics in some if "train/loss" in metrics]
        return len(risks) > self.stop_when_still and bool(max(risks) - min(risks) <= STILL * max(risks))
