"""The progress of a run: a bar with the time left on a terminal, otherwise a few lines."""

from __future__ import annotations

import time

from lab.terminal.bar import TerminalBar

LINES = 10
"""The number of lines that a whole run prints where there is no terminal."""
FIRST = ("train/accuracy", "test/accuracy", "test/kl", "validation/accuracy")
"""The metrics that are shown if a run has them."""


class EpochProgress(TerminalBar):
    """Shows the number of epochs that are done, the newest metrics and the time left."""

    def __init__(self, title: str, n_epochs: int, start: int = 0) -> None:
        super().__init__(title, n_epochs, start)
        self._title, self._n_epochs, self._start = title, n_epochs, start
        self._began = time.monotonic()

    def update(self, epoch: int, metrics: dict[str, float | int] | None = None) -> None:
        """Report that ``epoch`` epochs are done."""
        shown = _shown(metrics or {})
        if self._is_terminal:
            self._bar.update(self._task, completed=epoch)
            if metrics:
                self._bar.update(self._task, shown=shown)
        elif metrics and epoch * LINES // self._n_epochs > (epoch - 1) * LINES // self._n_epochs:
            elapsed = time.monotonic() - self._began
            left = elapsed / max(1, epoch - self._start) * (self._n_epochs - epoch)
            line = f"{self._title}: epoch {epoch} of {self._n_epochs}  {shown}  about {left:.0f} s left"
            print(line, flush=True)


def _shown(metrics: dict[str, float | int]) -> str:
    """The metrics of ``FIRST``. If there are none, the first two of training and test."""
    keys = [key for key in FIRST if key in metrics]
    keys = keys or [key for key in metrics if key.startswith(("train/", "test/"))][:2]
    return "  ".join(f"{key} {metrics[key]:.3f}" for key in keys)
