"""Output that survives a reader who goes away, as ``| head`` does."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class _Pipe(io.FileIO):
    """A file descriptor whose reader may go away. What is written afterwards is lost, without an error."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            return memoryview(data).nbytes  # type: ignore[arg-type]


@contextmanager
def unbreakable_output() -> Iterator[None]:
    """Inside the ``with`` block, a closed pipe does not end the command."""
    before = sys.stdout, sys.stderr
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        stream.flush()
        pipe = io.BufferedWriter(_Pipe(descriptor, "w", closefd=False))
        through = io.TextIOWrapper(
            pipe, stream.encoding, stream.errors, line_buffering=name == "stderr" or stream.isatty()
        )
        setattr(sys, name, through)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before
