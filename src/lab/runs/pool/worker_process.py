"""What happens in a worker: jobs come through a pipe, results go back; see ``lab.runs.pool.workers``."""

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
    """Do the jobs that come through the pipe, until the parent has closed it.

    Asked to stop, it finishes what its job cannot leave, however often it is asked: a terminal's Ctrl-C and
    Slurm's signals reach every process, and the parent asks too. To end it at once, the parent dies.

    Raises:
        Stopped: then; it ends the process.
    """
    threading.Thread(target=die_with_parent, daemon=True).start()
    stop_signals.ONE_WISH = math.inf
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            content = pipe.recv_bytes()
            with listening():
                result = do(content)
            pipe.send_bytes(result)


def die_with_parent() -> None:
    """End this process with the one that started it, which cannot tell it any more when it is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def do(content: bytes) -> bytes:
    """What a pickled job returns or how it failed, pickled.

    Args:
        content: as ``Job.content`` made it.

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
        result = "error", f"{where}: {error.strerror or error}. Check that it is there and has room"
    except BaseException:
        result = "defect", traceback.format_exc()
    print(result[1], file=sys.stderr)
    return pickle.dumps(result)


def _print_to(log: Path) -> None:
    """Send what this process prints, libraries in C included, to the end of a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=True)  # Flushes, and whoever looks into the file sees every line.
    with log.open("ab") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
