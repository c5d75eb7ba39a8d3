"""The task of a small problem: all its seeds at once, by one method."""

from __future__ import annotations

import hashlib
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
FEW_WEIGHTS = 6
"""Problems of at most as many have them in their metrics."""


@dataclass(frozen=True)
class ProblemRecord:
    """The record of a problem's generated data."""

    problem: Problem

    @property
    def source(self) -> str:
        """The problem's name."""
        return f"{self.problem.name} (generated)"

    def fingerprint(self) -> str:
        """SHA-256 of inputs, targets and starts."""
        digest = hashlib.sha256()
        for values in (self.problem.inputs, self.problem.targets, self.problem.start):
            digest.update(values.contiguous().numpy().tobytes())
        return digest.hexdigest()


class SmallProblemsTask:
    """Descend a problem's risk in every seed; an epoch is an equal part of the problem's steps.

    Args:
        run: what every run has.
        device: unused: so little is fastest on the CPU.
        problem: a name of ``PROBLEMS``.
        method: a name of ``METHODS``.
        agreement_threshold: of the masks; the others have no use for it.
        n_seeds: S.
        noise: half-width of the noise on the regression's private features.

    Raises:
        UserError: an unknown name, or epochs that do not divide the steps.
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
        """Steps taken so far."""
        return self.model.step

    def train_epoch(self) -> Metrics:
        """Take the epoch's steps; ``seeds/arrived`` have a risk low enough and go no further."""
        self.model.descend(self.steps_per_epoch)
        return {"seeds/arrived": int((self.model.stopped >= 0).sum())}

    def evaluate(self) -> Metrics:
        """Mean risk and test measure of the seeds; ``seedS/weight/I`` where there are few weights."""
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
        """``steps`` of every seed."""
        return {"steps": self.model.steps().tolist()}

    def state_dict(self) -> dict[str, Any]:
        """Parameters of all seeds, optimizer and step."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.model.optimizer.state_dict(),
            "step": self.step,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from there."""
        self.model.load_state_dict(state["model"])
        self.model.optimizer.load_state_dict(state["optimizer"])
        self.model.step = state["step"]
