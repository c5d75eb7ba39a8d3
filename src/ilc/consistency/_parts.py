"""The parts of a computation, counted while they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Called with the number of finished parts and the number of all parts."""


class Parts:
    """Counts the parts of a score: a part for each environment, and one for each pair of environments.

    Args:
        n_environments: E.
        progress: told after each part; None tells nobody.
    """

    def __init__(self, n_environments: int, progress: Progress | None) -> None:
        self._all, self._progress, self._done = parts_of(n_environments), progress, 0

    def done(self, result: T) -> T:
        """Count one more part, and return what it gave."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._all)
        return result


def parts_of(n_environments: int) -> int:
    """The number of parts of a score."""
    return n_environments + n_environments**2
