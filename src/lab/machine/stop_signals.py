"""SIGTERM, SIGUSR1 and Ctrl-C ask a command to stop; it finishes what it cannot leave, and loses nothing.

Python's own modules alone, so that a command can listen before anything slow is imported.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

STOPPED = 75
"""Exit status of a command that was asked to stop and can go on: EX_TEMPFAIL of sysexits.h, "try again"."""

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

ONE_WISH = 1.0
"""Seconds within which signals count as one: Slurm and torchrun both send it to the same process."""


class Stopped(SystemExit):
    """Stopped as asked, to be continued: ends the program with status ``STOPPED`` and no traceback.

    Like KeyboardInterrupt it is no ``Exception``: what goes on after errors must not go on after it.
    """

    def __init__(self) -> None:
        super().__init__(STOPPED)

    def __reduce__(self) -> tuple[type[Stopped], tuple[()]]:
        return (Stopped, ())


@dataclass
class _Wish:
    """Which signal came first, when, and how many want to finish something before it is heeded."""

    signal: str | None = None
    moment: float = 0.0
    waiting: int = 0


_wish = _Wish()


def asked() -> str | None:
    """The signal that asked to stop, such as ``SIGTERM``; None when nobody has."""
    return _wish.signal


@contextmanager
def listening(*more: signal.Signals) -> Iterator[None]:
    """Heed the signals, and ``more`` of them, until the ``with`` block ends.

    The first one raises ``Stopped`` where the program happens to be, or, inside ``finish_first``, waits to
    be asked for. The second ends the process at once, as it would any other program.
    Outside of the main thread, where no signal arrives, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _heed) for number in (*SIGNALS, *more)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _wish.signal = None


@contextmanager
def finish_first() -> Iterator[None]:
    """Let a signal wait: the block looks at ``asked()`` where it can stop, and raises ``Stopped`` itself."""
    _wish.waiting += 1
    try:
        yield
    finally:
        _wish.waiting -= 1


def heed() -> None:
    """Stop here if a signal has asked for it: for loops within ``finish_first`` that have nothing to finish.

    Raises:
        Stopped: then, with one line that says so.
    """
    if _wish.signal is not None:
        _stop(_wish.signal)


def _stop(name: str) -> NoReturn:
    if os.environ.get("RANK", "0") == "0":
        print(f"Stopped by {name}: the same command continues", file=sys.stderr)
    raise Stopped


def _heed(number: int, frame: FrameType | None) -> None:
    name = signal.Signals(number).name
    if _wish.signal is not None:
        if time.monotonic() - _wish.moment > ONE_WISH:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        return
    _wish.signal, _wish.moment = name, time.monotonic()
    if not _wish.waiting:
        _stop(name)
