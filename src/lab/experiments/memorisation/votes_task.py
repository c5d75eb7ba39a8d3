"""A task that trains with a vote per example and compares the definitions of a vote every 40 steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ilc.aggregators import GradientStatistics
from ilc.gradients import EnvironmentGradients, example_local, example_loss, example_share
from lab.environment_task import EnvironmentTask
from lab.environment_task.step_record import StepRecord
from lab.experiments.memorisation.vote_similarity import vote_similarity
from lab.runs.one_run.task import Metrics

THRESHOLDS = (0.1, 0.2, 0.4)
VOTES: dict[str, Callable[..., EnvironmentGradients]] = {
    "exact": example_loss,
    "local": example_local,
    "share": example_share,
}
EVERY = 40
"""The number of steps between two comparisons."""


class VotesTask(EnvironmentTask):
    """An ``EnvironmentTask`` that takes all definitions' votes on the same batch, in the same state.

    It compares only the weights of convolutions and linear layers. The gradient of a bias in front of
    BatchNorm is zero except for rounding errors, so its votes mean nothing.
    """

    compared: list[dict[str, float]]
    """One row for each comparison and threshold.

    A row holds ``step``, ``threshold`` and the ``kept_share_NAME`` of every vote. For every vote except the
    exact one it also holds ``overlap_NAME`` and ``cosine_NAME``, which compare it with the exact vote
    (``vote_similarity``)."""

    def take_step(self, inputs: Tensor, targets: Tensor, seen: StepRecord) -> None:
        """Compare the votes if a comparison is due, then take the step."""
        if self.step == 0:
            self.compared = []
        if self.step % EVERY == 0:
            self.compared += self._compare(inputs, targets)
        super().take_step(inputs, targets, seen)

    def _compare(self, inputs: Tensor, targets: Tensor) -> list[dict[str, float]]:
        before = {name: value.clone() for name, value in self.model.state_dict().items()}
        votes = {}
        for name, ask in VOTES.items():
            votes[name] = self._weights(ask(self.model, self.risk, inputs, targets).statistics)
            self.model.load_state_dict(before)  # The vote has changed BatchNorm's running statistics.
        exact = votes.pop("exact")
        rows = []
        for threshold in THRESHOLDS:
            row: dict[str, float] = {"step": self.step, "threshold": threshold}
            for name, other in votes.items():
                found = vote_similarity(exact, other, threshold)
                row["kept_share_exact"] = found["kept_share_one"]
                row |= {f"kept_share_{name}": found["kept_share_other"]}
                row |= {f"{key}_{name}": found[key] for key in ("overlap", "cosine")}
            rows.append(row)
        return rows

    def _weights(self, statistics: dict[str, GradientStatistics]) -> dict[str, GradientStatistics]:
        return {name: statistics[name] for name, p in self.model.named_parameters() if p.ndim > 1}

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """Return the usual remarks and ``votes``, the rows of the comparisons."""
        return {**super().remarks(evaluations, selected), "votes": self.compared}

    def state_dict(self) -> dict[str, Any]:
        """Return the usual state and the rows so far."""
        # There are no rows before the first step.
        return {**super().state_dict(), "compared": getattr(self, "compared", [])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        super().load_state_dict(state)
        self.compared = state["compared"]
