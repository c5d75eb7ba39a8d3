"""Mirrors of the run directory: W&B, offline by default."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from ilc.configuration.keys import check_keys
from ilc.errors import UserError
from ilc.runs.run_options import RunOptions

MODES = ("offline", "online")


class Logger(Protocol):
    """Anything that takes metrics."""

    def log(self, metrics: dict[str, float | int]) -> None:
        """Take the metrics of one evaluation."""


class NoLogger:
    """Leaves the files to speak for themselves."""

    def log(self, metrics: dict[str, float | int]) -> None:
        """Do nothing."""


class WandbLogger:
    """One W&B run; closed as finished or failed when the context ends, in a sweep too.

    Raises:
        UserError: an unknown mode, or W&B cannot start.
    """

    def __init__(self, options: dict[str, Any], path: Path, run: RunOptions) -> None:
        if options["mode"] not in MODES:
            raise UserError(f"logger.mode must be one of {', '.join(MODES)}, got {options['mode']!r}")
        try:
            import wandb  # Slow to import, and not needed with logger=none.
        except ImportError as error:
            raise UserError(
                f"W&B cannot be imported ({error}): install it (pip install 'ilc[wandb]'), or use logger=none"
            ) from error
        try:
            self._run = wandb.init(
                dir=path,
                project=options["project"],
                mode=options["mode"],
                name=f"{run.name}-{run.method}-seed{run.seed}",
                config=run.content,
                reinit="finish_previous",
                settings=wandb.Settings(silent=True),
            )
        except Exception as error:
            raise UserError(
                f"W&B cannot start ({error}): use logger=none, or logger.mode=offline which needs no account"
            ) from error

    def log(self, metrics: dict[str, float | int]) -> None:
        """Send one evaluation, at its optimizer step."""
        self._run.log(metrics, step=int(metrics["step"]))

    def __enter__(self) -> WandbLogger:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run.finish(exit_code=0 if kind is None else 1)


def make_logger(path: Path, run: RunOptions) -> AbstractContextManager[Logger]:
    """The logger that the config names.

    Raises:
        UserError: an unknown option or mode.
    """
    options = run.logger
    is_none = options["name"] == "none"
    check_keys("logger", options, ("name",) if is_none else ("name", "project", "mode"))
    if is_none:
        return nullcontext(NoLogger())
    return WandbLogger(options, path, run)
