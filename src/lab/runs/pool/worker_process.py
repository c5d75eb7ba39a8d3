"""The code that a worker process runs: it receives jobs through a pipe and sends the results back."""

from __future__ import annotations

import contextlib
import io
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ilc.errors import UserError
from lab.machine import stop_signals
from lab.machine.stop_signals import Stopped, listening


def work(pipe: Connection) -> None:
    """Do the jobs that come through the pipe, until the parent closes the pipe.

    After a signal to stop, the worker first finishes the step of its job, however many signals follow:
    Ctrl-C in a terminal and the signals of Slurm reach every process, and the parent sends a signal too.
    The worker ends at once when its parent dies.

    Raises:
        Stopped: a signal asked for it; this ends the process.
    """
    threading.Thread(target=die_with_parent, daemon=True).start()
    stop_signals.ONE_REQUEST = math.inf
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            content = pipe.recv_bytes()
            with listening():
                result = do(content)
            pipe.send_bytes(result)


def die_with_parent() -> None:
    """Wait until the parent process ends, and then end this process.

    A parent that is killed cannot say so.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def do(content: bytes) -> bytes:
    """Do a pickled job, and return its result or its error, pickled.

    Args:
        content: the bytes that ``Job.content`` returned.

    Raises:
        Stopped: a signal asked for it.
    """
    result: tuple[str, Any]
    try:
        call, log = pickle.loads(content)
        _print_to(log)
        # Read only now, because reading it imports what it needs, which may print.
        job = pickle.loads(call)
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)
        return pickle.dumps(("value", job()))
    except Stopped:
        raise
    except UserError as error:
        result = "error", str(error)
    except OSError as error:
        where = error.filename or "a file"
        result = "error", f"{where}: {error.strerror or error}. Check that it exists and that there is room"
    except BaseException:
        result = "defect", traceback.format_exc()
    print(result[1], file=sys.stderr)
    return pickle.dumps(result)


def _print_to(log: Path) -> None:
    """Append everything that this process prints to a file, also what libraries written in C print."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=True)  # This flushes, and every new line reaches the file at once.
    with log.open("ab") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
