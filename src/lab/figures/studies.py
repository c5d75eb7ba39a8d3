"""The studies behind the committed files: which files they make, and the hours that it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from lab.figures.discovery import experiments
from lab.figures.pending import PENDING

FOLDERS = {
    "benchmark": "cost",
    "coinrun_bc": "coinrun",
    "consistency": "theory",
}
"""Folders below ``results/`` -> the experiment they belong to, where it has another name."""


@cache
def studies() -> dict[str, Any]:
    """The config of every study by its name."""
    # Here, because what draws figures alone has no config files.
    from omegaconf import OmegaConf

    from lab.configuration.groups import CONF

    return {
        path.stem: OmegaConf.to_container(OmegaConf.load(path)) for path in sorted(CONF.glob("study/*.yaml"))
    }


def studies_of(files: Iterable[str]) -> list[str]:
    """The studies that make some of these files below ``results/``."""
    wanted = set(files)
    return [
        name
        for name, study in studies().items()
        if any(_makes(step, file) for step in study["steps"] for file in wanted)
    ]


def _makes(step: Mapping[str, Any], file: str) -> bool:
    """Whether a step of a study makes a file: a table of its runs or trials, or a measurement's."""
    (content,) = step.values()
    tables = [f"{content['to']}_{kind}.csv" for kind in ("runs", "curves")] if content.get("to") else []
    trials = [f"/search/{name}_trials.csv" for name in content.get("names", ())]
    of_parts = [f"/search/{name}/" for name in content.get("names", ())]
    return (
        file in [*tables, *content.get("makes", ())]
        or file.endswith(tuple(trials))
        or any(folder in file for folder in of_parts)
    )


def hours(results: Path) -> dict[str, pd.DataFrame]:
    """A table for each experiment that has committed files: a row per study that makes some of them.

    Runs are those in the tables, trials of searches and failed ones too; the hours are their wall-clock times
    added up, on whatever else the machine did; what is expected is what the study's config says. A
    measurement records time only where a table of its has a column ``wall_seconds``, and a run that failed
    none. A study with files of several experiments belongs to that of its last step.

    Args:
        results: the folder of committed CSV files.
    """
    files = [path.relative_to(results).as_posix() for path in sorted(results.rglob("*")) if path.is_file()]
    of: dict[str, list[dict[str, str]]] = {name: [] for name in experiments()}
    for name, study in studies().items():
        made = [(step, file) for step in study["steps"] for file in files if _makes(step, file)]
        if made:
            folder = made[-1][1].partition("/")[0]
            of[FOLDERS.get(folder, folder)].append(_row(name, results, made))
    return {name: pd.DataFrame(rows) for name, rows in of.items() if rows}


def _row(name: str, results: Path, made: list[tuple[Mapping[str, Any], str]]) -> dict[str, str]:
    # Of a search the trials, which are there once more as runs.
    endings = {"runs": "_runs.csv", "search": "_trials.csv", "measurement": ".csv"}
    tables = [
        (kind, pd.read_csv(results / file, usecols=lambda column: column in ("wall_seconds", "stopped")))
        for step, file in made
        for kind in step
        if file.endswith(endings[kind])
    ]
    runs = [_n_done(table) for kind, table in tables if kind != "measurement"]
    spent = [table["wall_seconds"].sum() / 3600 for _, table in tables if "wall_seconds" in table]
    study = studies()[name]
    return {
        "study": f"[`{name}`](conf/study/{name}.yaml)",
        "finds out": study["about"],
        "runs": str(sum(runs)) if runs else "",
        "hours, recorded": f"{sum(spent):.2g}" if spent else "",
        "expected": study["cost"],
    }


def _n_done(table: pd.DataFrame) -> int:
    """How many runs of a table are done; those of unfinished studies name the others too."""
    return int((table["stopped"] != PENDING).sum()) if "stopped" in table else len(table)
