"""How far many jobs are: a bar with the time left on a terminal, a line per job that ended elsewhere."""

from __future__ import annotations

import time

from ilc.runs.progress import TerminalBar


class JobsProgress(TerminalBar):
    """Shows how many of how many jobs are done and the time left.

    Args:
        title: what they make.
        total: how many are wanted.
        done: how many were done before.
    """

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        super().__init__(title, total, done)
        self._title, self._total, self._done, self._start = title, total, done, done
        self._began = time.monotonic()

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
