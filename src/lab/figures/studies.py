"""The studies behind the committed files: the files that each study makes, and the hours that it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from lab.figures.discovery import experiments
from lab.figures.pending import done_rows
from lab.files.stopped_column import STOPPED


@cache
def study_files() -> dict[str, Path]:
    """Return the file of every study, by the study's name."""
    # Imported here because a package that only draws figures has no config files.
    from lab.configuration.groups import CONF

    return {path.stem: path for path in sorted(CONF.glob("study/*/*.yaml"), key=lambda path: path.stem)}


@cache
def studies() -> dict[str, Any]:
    """Return the config of every study, by the study's name."""
    from omegaconf import OmegaConf

    return {name: OmegaConf.to_container(OmegaConf.load(path)) for name, path in study_files().items()}


def experiment_of(study: str) -> str:
    """Return the experiment to which a study belongs, which is the folder of its file."""
    return study_files()[study].parent.name


def linked(study: str, to_root: str = "") -> str:
    """Return a study's name with a link to its file, as Markdown.

    Args:
        study: name of the study.
        to_root: path from the page to the repository's root, ``../`` for a page in ``docs/``.
    """
    return f"[`{study}`]({to_root}conf/study/{experiment_of(study)}/{study}.yaml)"


def studies_of(files: Iterable[str]) -> list[str]:
    """Return the studies that make some of these files below ``results/``."""
    wanted = set(files)
    return [
        name
        for name, study in studies().items()
        if any(_makes(step, file) for step in study["steps"] for file in wanted)
    ]


def _makes(step: Mapping[str, Any], file: str) -> bool:
    """Return whether a step of a study makes a file: a table of runs or trials, or a measurement's file."""
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
    """Return a table for each experiment with committed files; it has a row per study that makes some.

    The runs are those in the tables; trials of searches and failed runs count too. The hours are the sum of
    their wall-clock times, whatever else the machine did at the time. The expected cost is the text in the
    study's config. A measurement records its time only if one of its tables has a column ``wall_seconds``.
    A failed run records no time.

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
    # For a search only the trials are counted, because they appear a second time as runs.
    endings = {"runs": "_runs.csv", "search": "_trials.csv", "measurement": ".csv"}
    tables = [
        (kind, pd.read_csv(results / file, usecols=lambda column: column in ("wall_seconds", STOPPED)))
        for step, file in made
        for kind in step
        if file.endswith(endings[kind])
    ]
    runs = [
        len(done_rows(table) if STOPPED in table else table)
        for kind, table in tables
        if kind != "measurement"
    ]
    spent = [table["wall_seconds"].sum() / 3600 for _, table in tables if "wall_seconds" in table]
    study = studies()[name]
    return {
        "study": linked(name),
        "finds out": study["about"],
        "runs": str(sum(runs)) if runs else "",
        "hours, recorded": f"{sum(spent):.2g}" if spent else "",
        "expected": study["cost"],
    }
