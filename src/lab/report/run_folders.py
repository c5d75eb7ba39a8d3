"""Finds all run folders below the given folders, in any state."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ilc.errors import UserError
from lab.runs.one_run.run_files import CHECKPOINT, CONFIG, DONE, FAILED, METRICS, PROVENANCE
from lab.runs.one_run.run_folders import each_once, folders_below

LEFT_BY_A_RUN = {PROVENANCE, METRICS, CHECKPOINT, DONE}
"""A run folder has one of these files next to its config. The folder of ``conf/config.yaml`` has none."""


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """Return all run folders in these folders, at any depth, each once and sorted.

    A run folder that several of the folders hold has the path that the first of them gives it.

    Raises:
        UserError: a folder does not exist, or holds no run.
    """
    found: list[Path] = []
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder: name run folders, or a folder above them")
        runs = folders_below(folder, _is_run)
        if not runs:
            raise UserError(
                f"{folder} holds no run: start one with python src/train.py, or name run folders or a folder "
                "above them"
            )
        found += runs
    return sorted(each_once(found))


def _is_run(files: set[str]) -> bool:
    return FAILED in files or (CONFIG in files and bool(files & LEFT_BY_A_RUN))
