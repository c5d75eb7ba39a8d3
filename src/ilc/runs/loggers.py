"""Mirrors of the run directory: W&B, offline by default."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from ilc.errors import UserError
from ilc.runs.logger_options import WandbOptions
from ilc.runs.run_options import RunOptions


class Logger(Protocol):
    """Anything that takes metrics and pictures."""

    def log(self, metrics: dict[str, float | int], pictures: Iterable[Path] = ()) -> None:
        """Take the metrics of one evaluation, and PNG files."""


class NoLogger:
    """Leaves the files to speak for themselves."""

    def log(self, metrics: dict[str, float | int], pictures: Iterable[Path] = ()) -> None:
        """Do nothing."""


class WandbLogger:
    """One W&B run; closed as finished or failed when the context ends, in a sweep too.

    Raises:
        UserError: W&B is not installed or cannot start.
    """

    def __init__(self, options: WandbOptions, path: Path, run: RunOptions) -> None:
        try:
            import wandb  # Slow to import, and not needed with logger=none.
        except ImportError as error:
            raise UserError(
                f"W&B cannot be imported ({error}): install it (pip install 'ilc[wandb]'), or use logger=none"
            ) from error
        # Without one W&B's service writes its complaints behind the last line of a run.
        os.environ.setdefault("HOME", tempfile.gettempdir())
        try:
            self._run = wandb.init(
                dir=path,
                project=options.project,
                mode=options.mode,
                name=f"{run.name}-{run.method}-seed{run.seed}",
                config=run.content,
                reinit="finish_previous",
                settings=wandb.Settings(silent=True),
            )
        except Exception as error:
            raise UserError(
                f"W&B cannot start ({error}): use logger=none, or logger.mode=offline which needs no account"
            ) from error
        self._image = wandb.Image

    def log(self, metrics: dict[str, float | int], pictures: Iterable[Path] = ()) -> None:
        """Send one evaluation, at its optimizer step."""
        images = {path.stem: self._image(str(path)) for path in pictures}
        self._run.log({**metrics, **images}, step=int(metrics["step"]))

    def __enter__(self) -> WandbLogger:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run.finish(exit_code=0 if kind is None else 1)


def make_logger(path: Path, run: RunOptions, is_writer: bool = True) -> AbstractContextManager[Logger]:
    """The logger that the config names; of several processes only the one that writes has one.

    Raises:
        UserError: it cannot start.
    """
    if isinstance(run.logger, WandbOptions) and is_writer:
        return WandbLogger(run.logger, path, run)
    return nullcontext(NoLogger())
