"""The task of a simulator of frames that learns which frames to skip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from lab.configuration.section import Section
from lab.experiments.skip_intervals.domain import Domain
from lab.experiments.skip_intervals.methods import method_named
from lab.experiments.skip_intervals.options import SimulatorOptions, StepOptions
from lab.experiments.skip_intervals.rollouts import measures, roll_out
from lab.experiments.skip_intervals.schedules import Exploration, ScheduledSampling, Stages
from lab.experiments.skip_intervals.strip import png, strip
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.experiments.skip_intervals.unrolling import unrolled
from lab.runs.one_run.diverged import DivergedError
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.task import Metrics

SHOWN = 6
"""The number of validation trajectories whose rollouts are drawn."""
LAST = 5
"""The number of last evaluations whose mean is the final result in the summary."""


class SkipIntervalsTask:
    """A ``Task`` whose epoch is ``steps_per_epoch`` steps; each unrolls the simulator on a batch of windows.

    Args:
        run: options that every run has.
        device: device to train on.
        dataset: section that makes the domain.
        method: a name that ``method_named`` knows.
        horizon: largest number of frames ahead for a match of an adaptive step.
        steps_per_epoch: number of optimizer steps per epoch.
        simulator: options of the network.
        stages: schedule of windows, batch sizes and learning rates.
        exploration: schedule of random matches, for the method ``adaptive``.
        sampling: schedule of true frames as inputs.
        optimizer: options of the optimizer's steps.
        perturbed_share: share of all steps, at the beginning, that learn from the domain's perturbed
            trajectories.

    Raises:
        UserError: the method is unknown, a number is out of range, or the domain has no perturbed
            trajectories although ``perturbed_share`` asks for them.
    """

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        dataset: Section,
        method: str,
        horizon: int,
        steps_per_epoch: int,
        simulator: SimulatorOptions,
        stages: Stages,
        exploration: Exploration,
        sampling: ScheduledSampling,
        optimizer: StepOptions,
        perturbed_share: float = 0.0,
    ) -> None:
        if steps_per_epoch < 1:
            raise UserError(f"steps_per_epoch must be at least 1, got {steps_per_epoch}")
        if not 0 <= perturbed_share <= 1:
            raise UserError(f"perturbed_share must be in [0, 1], got {perturbed_share}")
        self.method = method_named(method, horizon)
        self.model: nn.Module = simulator.build().to(device)
        self.domain: Domain = dataset.build(data_dir=run.data_dir)
        self.data = self.domain.data
        if perturbed_share and self.data.perturbed is None:
            raise UserError(
                "perturbed_share needs perturbed trajectories: set dataset=funnel_board and "
                "dataset.perturbed=true"
            )
        self.training, self.validation = self.data.training.to(device), self.data.validation.to(device)
        self.perturbed = self.training if self.data.perturbed is None else self.data.perturbed.to(device)
        self.perturbed_share = perturbed_share
        self.stages, self.exploration, self.sampling = stages, exploration, sampling
        self.options = optimizer
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=stages.lr[0])
        self.device, self.steps_per_epoch = device, steps_per_epoch
        self.steps = run.trainer.max_epochs * steps_per_epoch
        self.step, self.evaluations = 0, 0
        self._pictures: dict[str, bytes] = {}

    def train_epoch(self) -> Metrics:
        """Take ``steps_per_epoch`` steps.

        Returns:
            ``train/loss``, the mean over the epoch; ``train/model_evaluations``, the number of calls of the
            simulator since the beginning that had a frame to predict; and ``train/mean_skip``, the mean
            number of frames per call in this epoch.

        Raises:
            DivergedError: the loss is no longer finite.
        """
        self.model.train()
        total, frames, before = 0.0, 0, self.evaluations
        for _ in range(self.steps_per_epoch):
            share = self.step / self.steps
            stage = self.stages.at(share)
            for group in self.optimizer.param_groups:
                group["lr"] = self.stages.lr[stage] * min(1.0, (self.step + 1) / (self.options.warm_up + 1))
            learned = self.perturbed if share < self.perturbed_share else self.training
            rows, times = self._windows(learned, self.stages.calls[stage], self.stages.batch_sizes[stage])
            seen = unrolled(
                self.model,
                learned,
                rows,
                times,
                self.method,
                self.stages.calls[stage],
                truth=self.sampling.at(share),
                random=self.exploration.at(share) if self.method.explores else 0.0,
            )
            self.optimizer.zero_grad()
            seen.loss.backward()  # type: ignore[no-untyped-call]
            if self.options.clip is not None:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
            self.optimizer.step()
            self.step += 1
            total += float(seen.loss.detach())
            self.evaluations += seen.evaluations
            frames += seen.frames
        if not math.isfinite(total):
            raise DivergedError(
                f"the loss is not finite between steps {self.step - self.steps_per_epoch} and {self.step}: "
                "choose a smaller stages.lr"
            )
        return {
            "train/loss": total / self.steps_per_epoch,
            "train/mean_skip": frames / (self.evaluations - before),
            "train/model_evaluations": self.evaluations,
        }

    def _windows(self, learned: Trajectories, calls: int, n: int) -> tuple[Tensor, Tensor]:
        """Draw the trajectories and the times at which windows begin.

        If ``calls`` is 0, a window begins at the first frame, else at any frame except the last.
        """
        rows = torch.randint(len(learned), (n,)).to(self.device)
        last = learned.lengths[rows] - 1
        if calls == 0:
            return rows, torch.zeros_like(last)
        return rows, (torch.rand(n).to(self.device) * last).long().minimum(last - 1)

    def evaluate(self) -> Metrics:
        """Return ``measures`` of rollouts from the first frames of the validation trajectories."""
        self.model.eval()
        rollouts = roll_out(self.model, self.domain, self.validation, self.method, SHOWN)
        self._pictures = {"rollouts": png(strip(rollouts, self.validation))}
        return {f"validation/{name}": value for name, value in measures(rollouts, self.validation).items()}

    def pictures(self) -> dict[str, bytes]:
        """Return the picture ``rollouts``: truth and predictions of the last evaluation, as a PNG file."""
        return self._pictures

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """Return the best evaluation by accuracy, the mean of the last five, and shortcuts' accuracies."""
        best = max(evaluations, key=lambda metrics: metrics["validation/accuracy"])
        final = evaluations[-LAST:]
        keys = [key for key in selected if key.startswith("validation/")]
        return {
            **{f"best/{key}": best[key] for key in ("step", *keys)},
            **{f"final/{key}": sum(metrics[key] for metrics in final) / len(final) for key in keys},
            **{f"shortcut/{name}": value for name, value in self.data.shortcuts.items()},
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the simulator and of the optimizer, and the counts."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "evaluations": self.evaluations,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.evaluations = state["step"], state["evaluations"]
