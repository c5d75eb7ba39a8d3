"""The files that a piece of code opens, which say from what a figure or a claim is made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_listeners: list[tuple[Path, set[str]]] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _listeners and isinstance(arguments[0], (str, os.PathLike)):
        path = Path(arguments[0]).absolute()
        for folder, read in _listeners:
            if path.is_relative_to(folder):
                read.add(path.relative_to(folder).as_posix())


@cache
def _listen() -> None:
    sys.addaudithook(_hear)  # Python cannot remove the hook, which does nothing while there are no listeners.


@contextmanager
def files_read(folder: Path) -> Iterator[set[str]]:
    """Collect the files below a folder that the ``with`` block opens; yield their relative paths.

    The set grows while the block runs. A block may stand in another one, which then has its files too.
    """
    _listen()
    listener = (folder.absolute(), set[str]())
    _listeners.append(listener)
    try:
        yield listener[1]
    finally:
        # Not by remove, which takes the first one that is equal, and the sets of two blocks may be.
        _listeners[:] = [one for one in _listeners if one is not listener]
