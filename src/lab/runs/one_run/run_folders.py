"""Finds run folders below a folder, and leaves out what W&B keeps in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from lab.runs.one_run.run_files import WANDB


def folders_below(folder: Path, is_run: Callable[[set[str]], bool]) -> list[Path]:
    """Return the folders at any depth whose files make them a run, sorted.

    Args:
        folder: where to search; it may be a run folder itself.
        is_run: takes the names of the files in a folder.
    """
    found = []
    for place, inner, files in os.walk(folder):
        if is_run(set(files)):
            inner[:] = [name for name in inner if name != WANDB]
            found.append(Path(place))
    return sorted(found)


def each_once(folders: Iterable[Path]) -> list[Path]:
    """Return these folders in their order. Of several paths to one folder only the first stays."""
    found: dict[Path, Path] = {}
    for folder in folders:
        found.setdefault(folder.resolve(), folder)
    return list(found.values())
