"""The task that trains a small problem with one method, for all seeds at once."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.errors import UserError
from lab.experiments.theory.many_seeds import ManySeeds
from lab.experiments.theory.problems import PROBLEMS, Problem
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.task import Metrics

METHODS: dict[str, Callable[[float], Aggregator]] = {
    "mean": lambda _: Mean(),
    "and_mask": AndMask,
    "geometric_mean": GeometricMean,
    "irm_penalty": lambda _: Mean(),  # The penalty is in the objective.
}
NOISY = "noisy_regression"
"""The only problem that uses the noise."""
FEW_WEIGHTS = 6
"""If a problem has at most this many weights, its metrics contain them."""


@dataclass(frozen=True)
class ProblemRecord:
    """The record of the data that were generated for a problem."""

    problem: Problem

    @property
    def source(self) -> str:
        """The problem's name."""
        return f"{self.problem.name} (generated)"

    def fingerprint(self) -> str:
        """Return the SHA-256 of inputs, targets and start parameters."""
        digest = hashlib.sha256()
        for values in (self.problem.inputs, self.problem.targets, self.problem.start):
            digest.update(values.contiguous().numpy().tobytes())
        return digest.hexdigest()


class SmallProblemsTask:
    """A task that descends a problem's risk in every seed. Each epoch has the same number of steps.

    Args:
        run: the options that every run has.
        device: not used, because such small problems are fastest on the CPU.
        problem: a name in ``PROBLEMS``.
        method: a name in ``METHODS``.
        agreement_threshold: the threshold of the masks. Other methods do not use it.
        n_seeds: S, the number of seeds.
        noise: half-width of the noise on the regression's private features.

    Raises:
        UserError: a name is unknown, a number is out of range, an option has no effect, or the number of
            epochs does not divide the number of steps.
    """

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        problem: str,
        method: str,
        agreement_threshold: float = 1.0,
        n_seeds: int = 10,
        noise: float = 0.0,
    ) -> None:
        del device
        for key, value, known in (("problem", problem, PROBLEMS), ("method", method, METHODS)):
            if value not in known:
                raise UserError(f"{key} must be one of {', '.join(known)}, got {value!r}")
        if n_seeds < 1 or not 0 <= noise < math.inf:
            raise UserError(
                f"n_seeds must be at least 1 and noise a number of at least 0, got {n_seeds} and {noise}"
            )
        if noise and problem != NOISY:
            raise UserError(f"noise={noise} has no effect on problem={problem}: choose problem={NOISY}")
        if run.seed:
            warnings.warn(
                f"seed={run.seed} has no effect, because a run has the seeds 0 to n_seeds - 1: raise n_seeds",
                stacklevel=2,
            )
        self.problem = PROBLEMS[problem](n_seeds, noise)
        steps = self.problem.schedule.steps
        self.steps_per_epoch, left = divmod(steps, run.trainer.max_epochs)
        if left:
            raise UserError(
                f"trainer.max_epochs must divide the {steps} steps of problem={problem}, "
                f"got {run.trainer.max_epochs}"
            )
        self.data = ProblemRecord(self.problem)
        self.model = ManySeeds(
            self.problem.irm_objective() if method == "irm_penalty" else self.problem.risk,
            self.problem.risk,
            self.problem.inputs,
            self.problem.targets,
            self.problem.start,
            METHODS[method](agreement_threshold),
            self.problem.schedule,
        )

    @property
    def step(self) -> int:
        """The number of steps taken so far."""
        return self.model.step

    def train_epoch(self) -> Metrics:
        """Take the steps of one epoch.

        The metric ``seeds/arrived`` counts the seeds whose risk is low enough. Their solutions are fixed.
        """
        self.model.descend(self.steps_per_epoch)
        return {"seeds/arrived": int((self.model.stopped >= 0).sum())}

    def evaluate(self) -> Metrics:
        """Return the mean risk and test measure of the seeds.

        If there are few weights, ``seedS/weight/I`` are added.
        """
        solutions = self.model.solutions()
        with torch.no_grad():
            risks = [loss(theta) for s, theta in enumerate(solutions) for loss in self.problem.losses(s)]
        tests = [self.problem.test(s, theta) for s, theta in enumerate(solutions)]
        metrics: Metrics = {
            "train/loss": float(torch.stack(risks).mean()),
            "test/measure": sum(tests) / len(tests),
        }
        if solutions.shape[1] <= FEW_WEIGHTS:
            for s, theta in enumerate(self.model.theta.tolist()):
                metrics |= {f"seed{s}/weight/{i}": weight for i, weight in enumerate(theta)}
        return metrics

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """Return ``steps``, the number of steps of every seed."""
        return {"steps": self.model.steps().tolist()}

    def state_dict(self) -> dict[str, Any]:
        """Return the parameters of all seeds, the state of the optimizer and the step."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.model.optimizer.state_dict(),
            "step": self.step,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.model.load_state_dict(state["model"])
        self.model.optimizer.load_state_dict(state["optimizer"])
        self.model.step = state["step"]
