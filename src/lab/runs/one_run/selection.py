"""Model selection: the rule that chooses the evaluation which the summary of a run reports.

``trainer.selection`` names the rule, in every experiment. Choosing the best evaluation at the end gives the
same result as stopping early at this evaluation, so no rule stops a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ilc.errors import UserError

Metrics = dict[str, Any]

LAST = "last"
"""The rule that takes the last evaluation. The checkpoint holds its weights."""


def last(evaluations: Sequence[Metrics]) -> int:
    """The last evaluation, at the end of training."""
    return len(evaluations) - 1


def training_environments(evaluations: Sequence[Metrics]) -> int:
    """The evaluation that is best on all training examples. It favours shortcuts as much as training does."""
    return _best([_score(metrics, "train") for metrics in evaluations])


def validation_environment(evaluations: Sequence[Metrics]) -> int:
    """The evaluation that is best on a validation environment (proposed by the reimplementation of IRM)."""
    return _best([_score(metrics, "validation") for metrics in evaluations])


def test_oracle(evaluations: Sequence[Metrics]) -> int:
    """The evaluation whose worse score, of training and of test, is best. It looks at the test data.

    The early stopping of the reimplementation of IRM works like this, and so does the choice of
    hyperparameters by the authors of IRM.
    """
    return _best([min(_score(metrics, "train"), _score(metrics, "test")) for metrics in evaluations])


# pytest takes functions of this name for tests.
test_oracle.__test__ = False  # type: ignore[attr-defined]

RULES: dict[str, Callable[[Sequence[Metrics]], int]] = {
    LAST: last,
    "training_environments": training_environments,
    "validation_environment": validation_environment,
    "test_oracle": test_oracle,
}
"""The rules by their names in configs. A rule takes all evaluations of a run and returns the index of one."""


def check_selection(rule: str, splits: Collection[str]) -> None:
    """Check that a dataset with these evaluation splits allows the rule.

    Raises:
        UserError: the rule needs a validation environment, and the dataset has none.
    """
    if rule == "validation_environment" and "validation" not in splits:
        raise UserError(
            "trainer.selection=validation_environment needs a dataset with an evaluation split named "
            "'validation', such as dataset=colored_mnist: choose another rule"
        )


def _score(metrics: Metrics, split: str) -> float:
    """The score of an evaluation, where higher is better: the accuracy, or otherwise the negative risk.

    Raises:
        UserError: the run measures neither.
    """
    if f"{split}/accuracy" in metrics:
        return float(metrics[f"{split}/accuracy"])
    if f"{split}/loss" not in metrics:
        raise UserError(
            f"this trainer.selection compares {split}/accuracy or {split}/loss, and this run measures "
            "neither: take trainer.selection=last"
        )
    return -float(metrics[f"{split}/loss"])


def _best(scores: Sequence[float]) -> int:
    """The index of the highest score; of equal scores, the first."""
    return scores.index(max(scores))
