"""How far a run is: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

LINES = 10
WIDE, BAR = 100, 20
"""Columns from which on a terminal has room for a bar, and those of the bar."""


class TerminalBar:
    """A bar on a terminal, nothing elsewhere: title, how much is done, the time left, a text.

    Where the terminal is narrow the text is cut first, then the title; count and time left stay.
    """

    def __init__(self, title: str, total: int, completed: int) -> None:
        console = Console()
        self._is_terminal = console.is_terminal
        wide = console.width > WIDE
        count, left = f"{total}/{total}", "0:00:00"
        title_width = min(len(title), console.width // (2 if wide else 3))
        room = console.width - title_width - len(count) - len(left) - (BAR + 4 if wide else 3)
        self._bar = Progress(
            TextColumn("{task.description}", table_column=_column(title_width)),
            *([BarColumn(BAR)] if wide else []),
            MofNCompleteColumn(table_column=_column(len(count))),
            TimeRemainingColumn(table_column=_column(len(left))),
            TextColumn("{task.fields[shown]}", table_column=_column(max(1, room))),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=total, completed=completed, shown="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def _column(width: int) -> Column:
    """At most so wide: what is longer ends in an ellipsis."""
    return Column(no_wrap=True, overflow="ellipsis", max_width=width)


class EpochProgress(TerminalBar):
    """Shows epochs done, the newest metrics and the time left."""

    def __init__(self, title: str, n_epochs: int, start: int = 0) -> None:
        super().__init__(title, n_epochs, start)
        self._title, self._n_epochs, self._start = title, n_epochs, start
        self._began = time.monotonic()

    def update(self, epoch: int, metrics: dict[str, float | int] | None = None) -> None:
        """Report that ``epoch`` epochs are done."""
        shown = (
            ""
            if metrics is None
            else "  ".join(
                f"{key} {metrics[key]:.3f}"
                for key in ("train/accuracy", "test/accuracy", "test/kl", "validation/accuracy")
                if key in metrics
            )
        )
        if self._is_terminal:
            self._bar.update(self._task, completed=epoch)
            if metrics:
                self._bar.update(self._task, shown=shown)
        elif metrics and epoch * LINES // self._n_epochs > (epoch - 1) * LINES // self._n_epochs:
            elapsed = time.monotonic() - self._began
            left = elapsed / max(1, epoch - self._start) * (self._n_epochs - epoch)
            line = f"{self._title}: epoch {epoch} of {self._n_epochs}  {shown}  about {left:.0f} s left"
            print(line, flush=True)
