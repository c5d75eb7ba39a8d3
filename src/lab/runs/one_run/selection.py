"""Model selection: which evaluation of a run its summary reports.

Chosen by ``trainer.selection`` in any experiment. Stopping early at the best evaluation and keeping
it is the same as choosing it afterwards, so no rule stops a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ilc.errors import UserError

Metrics = dict[str, Any]

LAST = "last"
"""The rule that selects nothing: the checkpoint has its weights."""


def last(evaluations: Sequence[Metrics]) -> int:
    """The end of training: nothing is selected."""
    return len(evaluations) - 1


def training_environments(evaluations: Sequence[Metrics]) -> int:
    """Best on the training environments, pooled. It favours shortcuts as much as training does."""
    return _best([_score(metrics, "train") for metrics in evaluations])


def validation_environment(evaluations: Sequence[Metrics]) -> int:
    """Best on an environment that neither trains nor tests (proposed by the reimplementation)."""
    return _best([_score(metrics, "validation") for metrics in evaluations])


def test_oracle(evaluations: Sequence[Metrics]) -> int:
    """Best on the worse of training and test environments: it looks at the test data.

    What the reimplementation's early stopping and the IRM authors' choice of hyperparameters do.
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
"""Rules by the name used in configs: all evaluations of a run in, the index of one out."""


def check_selection(rule: str, splits: Collection[str]) -> None:
    """Whether a dataset with these evaluation splits allows the rule.

    Raises:
        UserError: it lacks a validation environment.
    """
    if rule == "validation_environment" and "validation" not in splits:
        raise UserError(
            "trainer.selection=validation_environment needs a dataset with an evaluation split named "
            "'validation', such as dataset=colored_mnist: choose another rule"
        )


def _score(metrics: Metrics, split: str) -> float:
    """The higher the better: accuracy where there is one, else the negative risk."""
    if f"{split}/accuracy" in metrics:
        return float(metrics[f"{split}/accuracy"])
    return -float(metrics[f"{split}/loss"])


def _best(scores: Sequence[float]) -> int:
    """The first of the highest."""
    return scores.index(max(scores))
