"""Makes tables from run folders: one with a row per run, one with a row per evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ilc.errors import UserError
from lab.configuration.resolve import METHOD_KEYS, method_of
from lab.files.atomic import check_file_path, write_atomically
from lab.files.checksums import SUMS, list_again, list_beforehand
from lab.files.locked import locked
from lab.files.stopped_column import DIVERGED, STOPPED
from lab.runs.one_run.run_files import (
    CONFIG,
    is_done,
    read_config,
    read_metrics,
    read_provenance,
    read_summary,
)
from lab.runs.one_run.run_folders import each_once, folders_below
from lab.runs.tables.run_key import RUN, overrides_in, run_key


def export_runs(
    folders: Iterable[Path], columns: Iterable[str] = (), failed: Mapping[Path, str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read finished runs.

    Args:
        folders: run folders, or folders that hold run folders at any depth. A run in several of them
            counts once.
        columns: config keys that are added as columns, such as ``optimizer.lr``.
        failed: folders of runs that ended without a summary, each with its error. The table ``runs`` has a
            row for such a run, with the error, without metrics, and with ``failed`` in the column
            ``stopped``.

    Returns:
        The table ``runs`` has one row per run, with its summary and the command that repeats it. The table
        ``curves`` has one row per evaluation. Both are sorted by experiment, aggregator (or ``method``, for
        runs without an aggregator), the added columns, and seed.

    Raises:
        UserError: a folder holds no run, or a run that is not done or is damaged. No run is left out
            silently.
    """
    runs: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for folder in _run_folders(folders):
        identity = _identity(folder, list(columns))
        runs.append({**identity, **read_summary(folder), **_origin(folder)})
        curves += [{**identity, **metrics} for metrics in read_metrics(folder)]
    for folder, error in (failed or {}).items():
        own = _identity(folder, list(columns))
        runs.append({**own, STOPPED: DIVERGED, "error": error, **_origin(folder)})
    order = [key for key in row_order(columns) if any(key in row for row in runs)]
    # If no run has an evaluation, because all diverged, the table of curves still has its columns.
    empty = pd.DataFrame(columns=[*order, RUN, "step"])
    return (
        pd.DataFrame(runs).sort_values(order, ignore_index=True),
        pd.DataFrame(curves).sort_values([*order, "step"], ignore_index=True) if curves else empty,
    )


def row_order(columns: Iterable[str]) -> list[str]:
    """The columns by which rows are sorted, as far as a table has them."""
    return ["experiment", *METHOD_KEYS, *columns, "seed"]


def identity_columns(values: Mapping[str, Any], columns: Iterable[str]) -> dict[str, Any]:
    """The columns that identify the run of a row.

    Args:
        values: the resolved config of the run.
        columns: config keys that are added.
    """
    method = next((key for key in METHOD_KEYS if values.get(key) is not None), METHOD_KEYS[0])
    identity = {"experiment": values["name"], method: method_of(dict(values)), "seed": values["seed"]}
    return identity | {key: _selected(values, key) for key in columns}


def as_files(runs: pd.DataFrame, curves: pd.DataFrame | None, prefix: Path) -> dict[Path, bytes]:
    """Both tables as CSV, by their paths ``PREFIX_runs.csv`` and ``PREFIX_curves.csv``."""
    tables = {"runs": runs} if curves is None else {"runs": runs, "curves": curves}
    return {table_path(prefix, kind): table.to_csv(index=False).encode() for kind, table in tables.items()}


def table_path(prefix: Path, kind: str) -> Path:
    """The path of a table.

    Raises:
        UserError: no file can have this path.
    """
    if prefix.name in ("", ".."):
        raise UserError(
            f"cannot write tables to {prefix}: it is a folder. Add the beginning of their file names, such "
            f"as {prefix / 'mine'}"
        )
    path = prefix.with_name(f"{prefix.name}_{kind}.csv")
    check_file_path(path)
    return path


def write_files(files: Mapping[Path, bytes]) -> list[Path]:
    """Write each file in one step; folders are made if they do not exist. Return the paths.

    Raises:
        UserError: a file cannot be written.
    """
    for path in files:
        check_file_path(path)
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
    return list(files)


def write_results_files(files: Mapping[Path, bytes], results: Path) -> list[Path]:
    """Write files as ``write_files`` does, and list the hashes of those below ``results`` in ``SHA256SUMS``.

    A kill at any moment leaves files that ``read_listed`` takes.

    Raises:
        UserError: a file cannot be written, or the list is damaged.
    """
    if not any(path.resolve().is_relative_to(results.resolve()) for path in files):
        return write_files(files)
    check_file_path(results / SUMS)
    with locked(results):
        list_beforehand(results, files)
        paths = write_files(files)
        list_again(results, paths)
    return paths


def _run_folders(folders: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for folder in folders:
        runs = folders_below(folder, lambda files: CONFIG in files)
        if not runs:
            raise UserError(f"{folder} holds no run: name run folders, or a folder above them")
        unfinished = [str(run) for run in runs if not is_done(run)]
        if unfinished:
            raise UserError(
                f"these runs are not done: {', '.join(unfinished)}. Finish them, or remove their folders"
            )
        found += runs
    return each_once(found)


def _origin(folder: Path) -> dict[str, str]:
    provenance = read_provenance(folder)
    return {key: provenance[key] for key in ("command", "git_commit")}


def _identity(folder: Path, columns: list[str]) -> dict[str, Any]:
    own = identity_columns(read_config(folder), columns)
    return own | {RUN: run_key(overrides_in(read_provenance(folder)["command"]))}


def value_at(values: Any, key: str) -> Any:
    """The value of a dotted key.

    Raises:
        KeyError: there is no such key.
    """
    for part in key.split("."):
        if not isinstance(values, Mapping):
            raise KeyError(key)
        values = values[part]
    return values


def _selected(values: Any, key: str) -> Any:
    """The value of a dotted key, or None.

    A list or a section becomes text, so that rows can be sorted by it.
    """
    try:
        value = value_at(values, key)
    except KeyError:
        return None
    return str(value) if isinstance(value, (list, Mapping)) else value
