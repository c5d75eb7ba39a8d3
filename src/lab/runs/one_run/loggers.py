"""Copies of the metrics of a run: W&B, offline by default."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from ilc._extras import install_command
from ilc.errors import UserError
from lab.runs.one_run.logger_options import WandbOptions
from lab.runs.one_run.run_options import RunOptions


class Logger(Protocol):
    """An object that takes metrics and pictures."""

    def log(self, metrics: dict[str, float | int], pictures: Iterable[Path] = ()) -> None:
        """Take the metrics of one evaluation, and its PNG files."""

    def summarize(self, summary: Mapping[str, Any]) -> None:
        """Take the summary of a run that is done."""


class NoLogger:
    """Copies nothing."""

    def log(self, metrics: dict[str, float | int], pictures: Iterable[Path] = ()) -> None:
        """Do nothing."""

    def summarize(self, summary: Mapping[str, Any]) -> None:
        """Do nothing."""


class WandbLogger:
    """A run in W&B. It is closed as finished or as failed when the ``with`` block ends, also in a sweep.

    A run that continues stays the same run in W&B. Online, the server already has the earlier evaluations.
    Offline, W&B begins a new folder, and the earlier evaluations are logged again, so that it holds all of
    them.

    Args:
        options: the options of the config.
        path: the folder of the run.
        run: the options of the run, which W&B shows.
        before: the evaluations that were made before.

    Raises:
        UserError: W&B is not installed or cannot start.
    """

    def __init__(
        self, options: WandbOptions, path: Path, run: RunOptions, before: Iterable[dict[str, Any]] = ()
    ) -> None:
        try:
            import wandb  # Slow to import, and not needed with logger=none.
        except ImportError as error:
            raise UserError(
                f"W&B cannot be imported ({error}): install it ({install_command('wandb')}), or use "
                "logger=none"
            ) from error
        # Without HOME, the service of W&B prints complaints after the last line of a run.
        os.environ.setdefault("HOME", tempfile.gettempdir())
        online, known = options.mode == "online", _id_of(path)
        try:
            self._run = wandb.init(
                dir=path.absolute(),  # W&B's service may be an earlier run's, started in another folder.
                project=options.project,
                mode=options.mode,
                name=f"{run.name}-{run.method}-seed{run.seed}",
                id=known,
                resume="allow" if online and known is not None else None,
                config=run.content,
                reinit="finish_previous",
                settings=wandb.Settings(silent=True),
            )
        except Exception as error:
            raise UserError(
                f"W&B cannot start ({error}): use logger=none, or logger.mode=offline which needs no account"
            ) from error
        self._run.define_metric("*", step_metric="step")
        self._image = wandb.Image
        for metrics in () if online else before:
            self.log(metrics)

    def log(self, metrics: dict[str, float | int], pictures: Iterable[Path] = ()) -> None:
        """Send one evaluation; W&B counts epochs, which grow without a step too, and draws over steps."""
        images = {path.stem: self._image(str(path)) for path in pictures}
        # Committed at once: whatever W&B still holds back would come after the summary, and replace it.
        self._run.log({**metrics, **images}, step=int(metrics["epoch"]), commit=True)

    def summarize(self, summary: Mapping[str, Any]) -> None:
        """Replace the summary of W&B, which holds the last evaluation and not the selected one."""
        self._run.summary.update(dict(summary))

    def __enter__(self) -> WandbLogger:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run.finish(exit_code=0 if kind is None else 1)


def _id_of(path: Path) -> str | None:
    """The name that W&B gave to the run of this folder before: the end of the name of its newest folder."""
    folders = sorted(path.glob("wandb/*run-*-*"), key=lambda folder: folder.name.split("run-")[-1])
    return folders[-1].name.split("-")[-1] if folders else None


def make_logger(
    path: Path, run: RunOptions, before: Iterable[dict[str, Any]] = (), is_writer: bool = True
) -> AbstractContextManager[Logger]:
    """Make the logger that the config names. Of several processes, only the one that writes has a logger.

    Args:
        path: the folder of the run.
        run: the options of the run.
        before: the earlier evaluations of a run that continues.
        is_writer: whether this process writes.

    Raises:
        UserError: the logger cannot start.
    """
    if isinstance(run.logger, WandbOptions) and is_writer:
        return WandbLogger(run.logger, path, run, before)
    return nullcontext(NoLogger())
