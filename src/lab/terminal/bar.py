"""A bar that shows on a terminal how much is done."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

WIDE, BAR = 100, 20
"""The width in columns from which a terminal has room for a bar, and the width of that bar."""


class TerminalBar:
    """A line on a terminal with a title, a bar, a count, the time left and a text.

    Without a terminal it is empty.

    On a narrow terminal the text is cut first, then the title. The count and the time left are always shown.
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
    """A column of at most this width; a longer text ends in an ellipsis."""
    return Column(no_wrap=True, overflow="ellipsis", max_width=width)
