"""The studies behind the committed files: which files they make, and the hours that it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from lab.figures.discovery import experiments
from lab.figures.pending import PENDING


@cache
def study_files() -> dict[str, Path]:
    """The file of every study by the study's name."""
    # Imported here because a package that only draws figures has no config files.
    from lab.configuration.groups import CONF

    return {path.stem: path for path in sorted(CONF.glob("study/*/*.yaml"), key=lambda path: path.stem)}


@cache
def studies() -> dict[str, Any]:
    """The config of every study by the study's name."""
    from omegaconf import OmegaConf

    return {name: OmegaConf.to_container(OmegaConf.load(path)) for name, path in study_files().items()}


def experiment_of(study: str) -> str:
    """The experiment that a study belongs to: the folder of its file."""
    return study_files()[study].parent.name


def linked(study: str, to_root: str = "") -> str:
    """A study's name with a link to its file, as Markdown.

    Args:
        study: its name.
        to_root: path from the page to the repository's root, ``../`` for a page in ``docs/``.
    """
    return f"[`{study}`]({to_root}conf/study/{experiment_of(study)}/{study}.yaml)"


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
    none.

    Args:
        results: the folder of committed CSV files.
    """
    files = [path.relative_to(results).as_posix() for path in sorted(results.rglob("*")) if path.is_file()]
    of: dict[str, list[dict[str, str]]] = {name: [] for name in experiments()}
    for name, study in studies().items():
        made = [(step, file) for step in study["steps"] for file in files if _makes(step, file)]
        if made:
            of.setdefault(experiment_of(name), []).append(_row(name, results, made))
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
        "study": linked(name),
        "finds out": study["about"],
        "runs": str(sum(runs)) if runs else "",
        "hours, recorded": f"{sum(spent):.2g}" if spent else "",
        "expected": study["cost"],
    }


def _n_done(table: pd.DataFrame) -> int:
    """How many runs of a table are done; those of unfinished studies name the others too."""
    return int((table["stopped"] != PENDING).sum()) if "stopped" in table else len(table)
