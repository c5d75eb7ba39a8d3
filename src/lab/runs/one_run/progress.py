"""The progress of a run: a bar with the time left on a terminal, otherwise a few lines."""

from __future__ import annotations

import time

from lab.terminal.bar import TerminalBar

LINES = 10
"""The number of lines that a whole run prints where there is no terminal."""


class EpochProgress(TerminalBar):
    """Shows the number of epochs that are done, the newest metrics and the time left."""

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
