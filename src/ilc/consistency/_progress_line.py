"""A line on the error output that says how far a computation is."""

from __future__ import annotations

import sys
import time


class ProgressLine:
    """Writes ``NAME: 3 of 20 parts, 1 s, about 6 s left``.

    On a terminal it is one line that changes. Elsewhere a line follows every ten seconds, so that a log stays
    short.

    Args:
        name: what is computed.
        parts: the number of all parts.
        shown: whether to write at all; None writes on a terminal only.
    """

    def __init__(self, name: str, parts: int, shown: bool | None) -> None:
        self._name, self._parts, self._done = name, parts, 0
        self._terminal = sys.stderr.isatty()
        self._shown = self._terminal if shown is None else shown
        self._start = self._last = time.monotonic()
        self._written = False

    def part(self, done: int = 0, of: int = 0) -> None:
        """Count one more part. It can be given as a ``Progress``, of which the numbers are not used."""
        self._done += 1
        now = time.monotonic()
        if not self._shown or now - self._last < (0.2 if self._terminal else 10):
            return
        self._last, self._written = now, True
        passed = now - self._start
        left = passed / self._done * (self._parts - self._done)
        text = f"{self._name}: {self._done} of {self._parts} parts, {passed:.0f} s, about {left:.0f} s left"
        sys.stderr.write(f"\r{text:<79}" if self._terminal else f"{text}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line from the terminal."""
        if self._written and self._terminal:
            sys.stderr.write(f"\r{'':79}\r")
            sys.stderr.flush()
