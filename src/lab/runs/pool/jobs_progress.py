"""The progress of many jobs: a bar on a terminal, otherwise one line for each job that has ended."""

from __future__ import annotations

import time
from collections.abc import Callable

from lab.terminal.bar import TerminalBar


class JobsProgress(TerminalBar):
    """Shows how many jobs are done, how many there are, and the time left.

    Args:
        title: the name of the work.
        total: the number of jobs.
        done: the number of jobs that were done before.
        after_each: a function that is called after each job.
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
        """Report that one more job is done."""
        self._done += 1
        self._bar.update(self._task, completed=self._done, shown=text)
        if not self._is_terminal:
            each = (time.monotonic() - self._began) / (self._done - self._start)
            left = each * max(0, self._total - self._done)
            shown = f", {text}" if text else ""
            print(f"{self._title}: {self._done} of {self._total}{shown}, about {left:.0f} s left", flush=True)
        if self._after_each is not None:
            self._after_each()
