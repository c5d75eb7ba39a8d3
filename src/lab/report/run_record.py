"""One run folder as the report shows it: done, running, stopped, failed or damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ilc.errors import UserError
from lab.configuration.resolve import method_of
from lab.files.locked import is_locked
from lab.runs.one_run.run_files import (
    CONFIG,
    FAILED,
    LOG,
    METRICS,
    PROVENANCE,
    SUMMARY,
    is_done,
    read_config,
    read_metrics,
    read_provenance,
    read_summary,
)

T = TypeVar("T")
Value = bool | int | float | str | None

DIGITS = 5
"""The number of significant digits in the report."""

LOG_LINES = 15
"""The number of last lines of a log that are shown."""


@dataclass(frozen=True)
class Record:
    """A run as the report shows it.

    Attributes:
        folder: the path by which the run was found.
        state: ``done``, ``running`` (a process has locked the folder), ``stopped`` (the same command
            continues), ``failed`` (it diverged) or ``damaged``.
        message: the reason why it failed or is damaged, or the warning of its summary.
        command: the command that repeats the run; None if it was not recorded yet.
        keys: every dotted key of its config, the experiment, the method, and the origin of the numbers.
        metrics: the numbers of its summary; if the run is not done, those of its last evaluation.
        curves: for each metric one value per evaluation, or None for a missing value.
        log: the end of its output, if the output went to a file.
    """

    folder: str
    state: str
    message: str | None
    command: str | None
    keys: dict[str, Value]
    metrics: dict[str, float]
    curves: dict[str, list[float | None]]
    log: str | None


def read_record(folder: Path) -> Record:
    """Read a run folder. Damaged files are left out; the message names the first one."""
    damages: list[str] = []

    def attempt(name: str, read: Callable[[Path], T], otherwise: T) -> T:
        if not (folder / name).exists() and not is_done(folder):
            return otherwise
        try:
            return read(folder)
        except UserError as error:
            damages.append(str(error))
            return otherwise

    nothing: dict[str, Any] = {}
    never: list[dict[str, Any]] = []
    config = attempt(CONFIG, read_config, nothing)
    provenance = attempt(PROVENANCE, read_provenance, nothing)
    evaluations = attempt(METRICS, read_metrics, never)
    summary = attempt(SUMMARY, read_summary, nothing) if is_done(folder) else nothing
    state = "damaged" if damages else _state(folder)
    numbers = summary or (evaluations[-1] if evaluations else {})
    return Record(
        folder=str(folder),
        state=state,
        message=damages[0] if damages else _message(folder, state, summary),
        command=provenance.get("command") or None,
        keys=_keys(folder, state, config, provenance, summary),
        metrics={key: number for key, value in numbers.items() if (number := _number(value)) is not None},
        curves=_curves(evaluations),
        log=_end_of_log(folder),
    )


def _state(folder: Path) -> str:
    if is_done(folder):
        return "done"
    if is_locked(folder):
        return "running"
    return "failed" if (folder / FAILED).exists() else "stopped"


def _message(folder: Path, state: str, summary: Mapping[str, Any]) -> str | None:
    if state == "failed":
        return _text(folder / FAILED)
    warning = summary.get("warning")
    return None if warning is None else str(warning)


def _keys(
    folder: Path,
    state: str,
    config: Mapping[str, Any],
    provenance: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> dict[str, Value]:
    keys: dict[str, Value] = {"state": state}
    if config:
        keys |= {"experiment": str(config["name"]), "method": _method(config)}
    if folder.parent.name == "trials":
        # The whole path: searches of two files, or of two studies, may have the same last name.
        keys |= {"search": str(folder.parent.parent), "trial": folder.name}
    keys |= _flat({key: value for key, value in config.items() if key != "name"})
    keys |= {f"provenance.{key}": _plain(provenance[key]) for key in _ORIGIN if key in provenance}
    return keys | {key: str(summary[key]) for key in ("selection", "stopped") if key in summary}


_ORIGIN = ("git_commit", "git_dirty", "device", "device_name", "data_source")


def _method(config: Mapping[str, Any]) -> str:
    try:
        return method_of(dict(config))
    except UserError:
        return "?"


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Value]:
    flat: dict[str, Value] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = _plain(value)
    return flat


def _plain(value: Any) -> Value:
    """Return a value of the config in a form that JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return (
        value
        if value is None or isinstance(value, (bool, int, float, str))
        else json.dumps(value, default=str)
    )


def _number(value: Any) -> float | None:
    """Return a finite number with ``DIGITS`` digits, or None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")


def _curves(evaluations: list[dict[str, Any]]) -> dict[str, list[float | None]]:
    """Return the columns of the evaluations. A column without any number is left out."""
    names = dict.fromkeys(name for evaluation in evaluations for name in evaluation)
    columns = {name: [_number(evaluation.get(name)) for evaluation in evaluations] for name in names}
    return {name: column for name, column in columns.items() if any(value is not None for value in column)}


def _end_of_log(folder: Path) -> str | None:
    text = _text(folder / LOG)
    return None if text is None else "\n".join(text.splitlines()[-LOG_LINES:])


def _text(path: Path) -> str | None:
    """Return the text of a file, or None if there is no file or if it is a link.

    Links are not followed, because a link in another person's folder could lead anywhere.
    """
    if path.is_symlink() or not path.is_file():
        return None
    return path.read_text(errors="replace").strip()
