"""One run, from its config to its folder, whatever it trains."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from ilc.runs.device import choose_device, peak_memory_mb
from ilc.runs.loggers import Logger, make_logger
from ilc.runs.progress import EpochProgress
from ilc.runs.provenance import provenance
from ilc.runs.random_state import random_state, seed_everything, set_random_state
from ilc.runs.run_directory import RunDirectory
from ilc.runs.run_options import RunOptions
from ilc.runs.selection import RULES
from ilc.runs.task import CONVERGED, Metrics, Task
from ilc.seeding import seed_for


def run(content: dict[str, Any], path: Path, command: str) -> dict[str, Any]:
    """Train, or continue an interrupted run, or do nothing when it is done; return the summary.

    Args:
        content: the resolved config.
        path: the run's folder.
        command: what repeats this run, for its provenance.

    Raises:
        UserError: anything a user can mend; what was written before stays as it is.
    """
    options = RunOptions.of(content)
    device = choose_device(options.device, options.threads)
    directory = RunDirectory(path, content)
    if directory.is_done:
        print(f"{options.title}: done before, nothing to do")
        return directory.summary()
    with directory.alone():
        return _Run(options, directory, device).go(command)


class _Run:
    """A task, its folder, and what has happened so far."""

    def __init__(self, options: RunOptions, directory: RunDirectory, device: torch.device) -> None:
        self._began = time.monotonic()
        self._options, self._directory, self._device = options, directory, device
        seed_everything(seed_for(options.seed, "run"))
        self._task: Task = options.build_task(device)
        print(f"{options.title}: data: {self._task.data.source}; device: {device}")
        self._epoch = 0
        self._evaluations: list[Metrics] = []
        self._continue()

    def _continue(self) -> None:
        """Go back to the last checkpoint, if there is one."""
        checkpoint = self._directory.load_checkpoint()
        if checkpoint is not None:
            self._task.load_state_dict(checkpoint)
            set_random_state(checkpoint["random"])
            self._epoch = checkpoint["epoch"]
            # The clock goes on where it was, as if nothing had happened in between.
            self._began -= checkpoint["wall_seconds"]
            print(f"{self._options.title}: continuing after epoch {self._epoch}")
        n_evaluations = 0 if checkpoint is None else checkpoint["n_evaluations"]
        self._evaluations = self._directory.keep_metrics(n_evaluations)

    def go(self, command: str) -> dict[str, Any]:
        """Train to the end and write the summary."""
        trainer, directory = self._options.trainer, self._directory
        directory.start(provenance(command, self._options, self._device, self._task.data))
        with (
            make_logger(directory.path, self._options) as logger,
            EpochProgress(self._options.title, trainer.max_epochs, self._epoch) as progress,
        ):
            metrics = self._evaluations[-1] if self._evaluations else {}
            while self._epoch < trainer.max_epochs and trainer.reason_to_stop(metrics) is None:
                seen = self._task.train_epoch()
                self._epoch += 1
                is_due = self._epoch % trainer.evaluate_every == 0 or self._epoch == trainer.max_epochs
                if is_due or seen.get(CONVERGED):
                    metrics = self._evaluate(seen, logger)
                progress.update(self._epoch, metrics)
        summary = self._summary()
        if "warning" in summary:
            print(f"Warning: {summary['warning']}")
        directory.finish(summary)
        return summary

    def _evaluate(self, seen: Metrics, logger: Logger) -> Metrics:
        """Metrics first, then the checkpoint that counts them: a kill in between repeats, never loses."""
        metrics = {"step": self._task.step, "epoch": self._epoch, **seen, **self._task.evaluate()}
        seconds = time.monotonic() - self._began
        self._evaluations.append(metrics)
        self._directory.append_metrics(metrics)
        logger.log(metrics)
        state = {
            **self._task.state_dict(),
            "random": random_state(),
            "epoch": self._epoch,
            "n_evaluations": len(self._evaluations),
            "wall_seconds": seconds,
        }
        self._directory.save_checkpoint(state)
        return metrics

    def _summary(self) -> dict[str, Any]:
        """The selected evaluation, how it was selected and why the run ended, the task's remarks."""
        trainer, evaluations = self._options.trainer, self._evaluations
        selected = evaluations[RULES[trainer.selection](evaluations)]
        return {
            **selected,
            "selection": trainer.selection,
            "stopped": trainer.reason_to_stop(evaluations[-1]) or "completed",
            "data_source": self._task.data.source,
            **self._task.remarks(evaluations, selected),
            "parameters": sum(p.numel() for p in self._task.model.parameters() if p.requires_grad),
            "wall_seconds": time.monotonic() - self._began,
            "peak_memory_mb": peak_memory_mb(self._device),
        }
