"""SIGTERM, SIGUSR1 and Ctrl-C ask a command to stop. It first finishes its step, so that nothing is lost.

This file imports only the standard library, so that a command can listen before slow imports.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import NoReturn

STOPPED = 75
"""Exit status of a command that was asked to stop and can go on: EX_TEMPFAIL of sysexits.h, "try again"."""

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

ONE_REQUEST = 1.0
"""Signals within this many seconds count as one: Slurm and torchrun both send theirs to the same process."""

AGAIN = 0.01
"""The seconds after which a signal is sent again whose exception Python has dropped."""


class Stopped(SystemExit):
    """The program stops because a signal asked for it: exit status ``STOPPED``, no traceback.

    It is not an ``Exception``, as KeyboardInterrupt is not: code that continues after an error must not
    continue after a stop.
    """

    def __init__(self) -> None:
        super().__init__(STOPPED)

    def __reduce__(self) -> tuple[type[Stopped], tuple[()]]:
        return (Stopped, ())


@dataclass
class _Request:
    """The first signal, its time, the open blocks of ``finish_first``, and whether a line told of it."""

    signal: str | None = None
    moment: float = 0.0
    waiting: int = 0
    told: bool = False


_request = _Request()


def stop_requested() -> str | None:
    """The name of the signal that asked this command to stop, such as ``SIGTERM``; None if there was none."""
    return _request.signal


@contextmanager
def listening(*more: signal.Signals) -> Iterator[None]:
    """Listen to the signals, and to ``more`` of them, until the ``with`` block ends.

    The first signal raises ``Stopped`` at once. Inside ``finish_first`` it only makes ``stop_requested``
    return its name. The second signal ends the process at once, as it ends any other program. Outside of
    the main thread, where no signal arrives, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _on_signal) for number in (*SIGNALS, *more)}
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_raise_later, hook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
        _request.signal, _request.told = None, False


@contextmanager
def finish_first() -> Iterator[None]:
    """Let signals wait inside the block, which must call ``stop_requested()`` where it can stop."""
    _request.waiting += 1
    try:
        yield
    finally:
        _request.waiting -= 1


def stop_if_requested() -> None:
    """Stop here if a signal has asked for it.

    Loops inside ``finish_first`` that have nothing to finish call it.

    Raises:
        Stopped: a signal has asked for it; one line says so.
    """
    if _request.signal is not None:
        _stop(_request.signal)


def _stop(name: str) -> NoReturn:
    if os.environ.get("RANK", "0") == "0" and not _request.told:
        _request.told = True
        print(f"Stopped by {name}: run the same command again to continue", file=sys.stderr)
    raise Stopped


def _raise_later(hook: Callable[[sys.UnraisableHookArgs], object], lost: sys.UnraisableHookArgs) -> None:
    """Send the signal again if Python has dropped its ``Stopped``.

    A signal that arrives during garbage collection is handled inside the first finalizer that runs, and
    Python ignores what a finalizer raises. So the command would go on.
    """
    if not isinstance(lost.exc_value, Stopped) or _request.signal is None:
        hook(lost)
        return
    number = signal.Signals[_request.signal]
    _request.signal = None
    again = threading.Timer(AGAIN, _send_again, [number])
    again.daemon = True
    again.start()


def _send_again(number: signal.Signals) -> None:
    if signal.getsignal(number) is _on_signal:  # Otherwise the command has ended in the meantime.
        signal.raise_signal(number)


def _on_signal(number: int, frame: FrameType | None) -> None:
    name = signal.Signals(number).name
    if _request.signal is not None:
        if time.monotonic() - _request.moment > ONE_REQUEST:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        return
    _request.signal, _request.moment = name, time.monotonic()
    if not _request.waiting:
        _stop(name)
