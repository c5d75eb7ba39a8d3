"""One run, from its config to its folder, whatever it trains."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

import torch

from ilc._processes import Processes, joined
from ilc.errors import UserError
from lab.machine.memory_reuse import keep_freed_memory
from lab.machine.seeding import seed_for
from lab.machine.stop_signals import Stopped, finish_first, stop_requested
from lab.machine.subnormals import subnormals_are_zero
from lab.runs.one_run.device import choose_device, peak_memory_mb
from lab.runs.one_run.diverged import DivergedError
from lab.runs.one_run.loggers import Logger, make_logger
from lab.runs.one_run.metrics import with_every_metric
from lab.runs.one_run.movement import nothing_moved, weights_sha256
from lab.runs.one_run.progress import EpochProgress
from lab.runs.one_run.provenance import data_identity, provenance
from lab.runs.one_run.random_state import random_state, seed_everything, set_random_state
from lab.runs.one_run.run_directory import RunDirectory
from lab.runs.one_run.run_files import (
    check_selected,
    check_tables,
    mismatch_explained,
    read_summary,
)
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.selection import LAST, RULES
from lab.runs.one_run.task import CONVERGED, Interrupted, Metrics, Task, pictures_of

COMPLETED = "completed"
"""The reason in the summary of a run that went through all of its epochs."""


def run(content: dict[str, Any], path: Path, command: str) -> dict[str, Any]:
    """Train, or continue an interrupted run, or do nothing if the run is done; return the summary.

    Args:
        content: the resolved config.
        path: the folder of the run.
        command: the command that repeats this run, for its provenance.

    Raises:
        UserError: an error that the user can mend; the files that were written before stay as they are.
        Stopped: a signal asked for it, if the command listens (``lab.machine.stop_signals``).
    """
    keep_freed_memory()
    with subnormals_are_zero(), joined() as processes, _one_speaker(processes):
        options = RunOptions.of(content)
        device = choose_device(options.device, options.threads)
        directory = RunDirectory(path, content, processes.is_writer)
        if directory.is_done:
            print(f"{options.title}: the run is done already, so there is nothing to do")
            check_tables(path)
            summary = read_summary(path)
            print(_reached(options.title, summary))
            return summary
        with directory.locked(), directory.failure_kept(), _limits_of_numbers_explained():
            begun = _Run(options, directory, device, processes)
            with finish_first():
                return begun.go(command)


def _reached(title: str, summary: Metrics) -> str:
    """One line with the test numbers of a run, or with its training numbers if it has no test set."""
    numeric = [key for key, value in summary.items() if isinstance(value, (int, float))]
    shown = [key for key in numeric if key.startswith("test/")]
    shown = shown or [key for key in numeric if key.startswith("train/")]
    numbers = ", ".join(f"{key} {summary[key]:.4g}" for key in shown)
    when = f"epoch {summary.get('epoch')}, selection: {summary.get('selection')}"
    if summary.get("stopped") != COMPLETED:
        when += f", stopped: {summary.get('stopped')}"
    return f"{title}: reached {numbers or 'no metric'} ({when})"


@contextmanager
def _one_speaker(processes: Processes) -> Iterator[None]:
    """Of several processes, only the one that writes files prints."""
    with nullcontext() if processes.is_writer else redirect_stdout(io.StringIO()):
        yield


@contextmanager
def _limits_of_numbers_explained() -> Iterator[None]:
    """Turn torch's errors about too little memory and about too large a number into one message."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if "without overflow" in str(error):
            raise DivergedError(
                f"training diverged: a step multiplies by a number that is too large for float32 ({error}). "
                "Take a smaller optimizer.lr. The files written so far stay as they are"
            ) from error
        # torch has an own type for CUDA only. On the CPU the words of the error decide.
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error):
            what = " ".join(str(error).split())[:200]
            raise UserError(
                f"no memory is left ({what}): take a smaller dataset.batch_size, dataset or model"
            ) from error
        raise


class _Run:
    """A task, its folder, and the evaluations so far."""

    def __init__(
        self, options: RunOptions, directory: RunDirectory, device: torch.device, processes: Processes
    ) -> None:
        self._began = time.monotonic()
        self._options, self._directory, self._device = options, directory, device
        self._processes = processes
        if processes.size > 1 and not getattr(options.task, "shares_steps", False):
            raise UserError(
                f"experiment={options.name} cannot share its steps among {processes.size} processes: start "
                "it without torchrun. To make several runs at a time, use scripts/run_many.py"
            )
        seed_everything(seed_for(options.seed, "run"))
        self._task: Task = options.build_task(device)
        print(f"{options.title}: data: {self._task.data.source}; device: {device}")
        self._data = data_identity(self._task.data)
        self._before = weights_sha256(self._task)
        self._epoch = 0
        self._evaluations: list[Metrics] = []
        self._continue()

    def _continue(self) -> None:
        """Continue from the last checkpoint, if there is one."""
        checkpoint = self._directory.load_checkpoint(self._data)
        if checkpoint is not None:
            with mismatch_explained(self._directory.path):
                self._task.load_state_dict(checkpoint)
                set_random_state(checkpoint["random"])
            self._epoch = checkpoint["epoch"]
            # The time between the interruption and now does not count.
            self._began -= checkpoint["wall_seconds"]
            print(f"{self._options.title}: continuing after epoch {self._epoch}, step {self._task.step}")
        self._evaluations = self._directory.keep_metrics(checkpoint)
        if self._evaluations and self._options.trainer.selection != LAST:
            check_selected(self._directory.path)
        if len({step for (step,) in self._processes.gathered([self._task.step])}) > 1:
            raise UserError(
                f"the processes do not find the same checkpoint in {self._directory.path}: set "
                "hydra.run.dir=... to a folder on a file system that all of them share"
            )

    def go(self, command: str) -> dict[str, Any]:
        """Train to the end and write the summary."""
        trainer, directory = self._options.trainer, self._directory
        if directory.writes:
            directory.start(provenance(command, self._options, self._device, self._data))
        with (
            make_logger(directory.path, self._options, self._evaluations, directory.writes) as logger,
            EpochProgress(self._options.title, trainer.max_epochs, self._epoch) as progress,
        ):
            metrics = self._evaluations[-1] if self._evaluations else {}
            while self._epoch < trainer.max_epochs and trainer.reason_to_stop(self._evaluations) is None:
                if self._processes.any(stop_requested() is not None):
                    self._stop()
                try:
                    seen = self._task.train_epoch()
                except Interrupted:
                    self._stop()
                self._epoch += 1
                is_due = self._epoch % trainer.evaluate_every == 0 or self._epoch == trainer.max_epochs
                if is_due or seen.get(CONVERGED):
                    metrics = self._evaluate(seen, logger)
                progress.update(self._epoch, metrics)
            summary = self._summary()
            logger.summarize(summary)
        if "warning" in summary:
            print(f"Warning: {summary['warning']}")
        directory.finish(summary)
        print(_reached(self._options.title, summary))
        return summary

    def _evaluate(self, seen: Metrics, logger: Logger) -> Metrics:
        """Write the metrics, and then the checkpoint that counts them.

        If the process is killed between the two, the evaluation is made again, and nothing is lost.
        """
        metrics = {"step": self._task.step, "epoch": self._epoch, **seen, **with_every_metric(self._task)}
        seconds = time.monotonic() - self._began
        self._evaluations.append(metrics)
        self._directory.append_metrics(metrics)
        logger.log(metrics, self._directory.save_pictures(pictures_of(self._task)))
        rule = self._options.trainer.selection
        if rule != LAST and RULES[rule](self._evaluations) == len(self._evaluations) - 1:
            # The weights come before the checkpoint that counts the evaluation. A kill in between repeats
            # both.
            self._directory.save_selected(metrics["step"], self._task.model)
        self._save(seconds)
        return metrics

    def _save(self, seconds: float) -> None:
        """Write a checkpoint of the present state."""
        state = {
            **self._task.state_dict(),
            "random": random_state(),
            "epoch": self._epoch,
            "n_evaluations": len(self._evaluations),
            "wall_seconds": seconds,
        }
        self._directory.save_checkpoint(state, self._data)

    def _stop(self) -> NoReturn:
        """Write a checkpoint between two steps, and stop as a signal has asked."""
        self._save(time.monotonic() - self._began)
        if self._processes.is_writer:
            name = stop_requested() or "a signal to another process"
            where = f"epoch {self._epoch}, step {self._task.step}"
            print(
                f"Stopped by {name} after {where}; nothing is lost. Run the same command again to continue: "
                f"{self._directory.path}",
                file=sys.stderr,
            )
        raise Stopped

    def _summary(self) -> dict[str, Any]:
        """The selected evaluation and its rule, why the run ended, and the remarks of the task."""
        trainer, evaluations = self._options.trainer, self._evaluations
        selected = evaluations[RULES[trainer.selection](evaluations)]
        remarks = self._task.remarks(evaluations, selected)
        if self._before is not None and weights_sha256(self._task) == self._before:
            own = [str(remarks["warning"])] if "warning" in remarks else []
            remarks = {**remarks, "warning": "; ".join([nothing_moved(self._task.step), *own])}
        return {
            **selected,
            "selection": trainer.selection,
            "stopped": trainer.reason_to_stop(evaluations) or COMPLETED,
            "data_source": self._task.data.source,
            **remarks,
            "parameters": sum(p.numel() for p in self._task.model.parameters() if p.requires_grad),
            "wall_seconds": time.monotonic() - self._began,
            "peak_memory_mb": peak_memory_mb(self._device),
        }
