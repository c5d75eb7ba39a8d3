"""How far many jobs are: a bar with the time left on a terminal, a line per job that ended elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from lab.terminal.bar import TerminalBar


class JobsProgress(TerminalBar):
    """Shows how many of how many jobs are done and the time left.

    Args:
        title: what they make.
        total: how many are wanted.
        done: how many were done before.
        after_each: called whenever one more is done.
    """

    def __init__(
        self, title: str, total: int, done: int = 0, after_each: Callable[[], None] | None = None
    ) -> None:
        super().__init__(title, total, done)
        self._title, self._total, self._done, self._start = title, total, done, done
        self._began = time.monotonic()
        self._after_each = after_each

    def show(self, text: str) -> None:
        """Show a text beside the bar."""
        self._bar.update(self._task, shown=text)

    def advance(self, text: str = "") -> None:
        """Report that one more is done."""
        self._done += 1
        self._bar.update(self._task, completed=self._done, shown=text)
        if not self._is_terminal:
            each = (time.monotonic() - self._began) / (self._done - self._start)
            left = each * max(0, self._total - self._done)
            shown = f", {text}" if text else ""
            print(f"{self._title}: {self._done} of {self._total}{shown}, about {left:.0f} s left", flush=True)
        if self._after_each is not None:
            self._after_each()
