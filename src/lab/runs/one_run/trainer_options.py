"""How long a run lasts, which rules stop it, and which evaluation it reports: the section ``trainer``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ilc.errors import UserError
from lab.runs.one_run.selection import RULES
from lab.runs.one_run.task import CONVERGED, Metrics

STILL = 1e-4
"""A training risk stands still if it changes by less than this fraction of itself."""


@dataclass(frozen=True)
class TrainerOptions:
    """The keys of the section that the run reads. Other keys of the section belong to the task.

    Attributes:
        max_epochs: the number of training epochs.
        evaluate_every: the number of epochs between two evaluations; a checkpoint follows each evaluation.
        stop_when_memorised: the rule of the paper to save time: stop when the training accuracy is above 97 %
            and the test accuracy is below 60 %. It looks at test data.
        stop_when_solved: stop when every training and test example is classified correctly. Deviation: this
            rule is ours, to save time in searches. It looks at test data, as the rule of the paper does.
        stop_when_still: stop when the training risk has changed by less than a ten-thousandth over this
            number of evaluations; None for never. Deviation: this rule is ours, to save time in searches.
        stop_below: stop after half of the epochs if the training accuracy is below this value; None for
            never. Deviation: this rule is ours, to save time in searches. It looks at no test data.
        selection: the rule that chooses the evaluation which the summary reports.

    Raises:
        UserError: a number is out of range.
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
        """The name of the rule that ends the run after these evaluations, or None if the run goes on.

        The names are ``converged``, ``still``, ``memorised``, ``solved`` and ``hopeless``.
        """
        if not evaluations:
            return None
        metrics = evaluations[-1]
        # An accuracy that does not exist is NaN, and every comparison with NaN is false.
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
