"""Tables that no study makes: where ``run_many.py --to`` may write, checked before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ilc.errors import UserError
from lab.configuration.searched_settings import RESULTS
from lab.runs.study.study_file import load_study, study_names
from lab.runs.tables.export import table_path

KINDS = ("runs", "curves")
"""The tables of runs, by the ending of their names."""


def tables_prefix(to: Path) -> Path:
    """The path of the tables without their endings, from one that may have an ending.

    Raises:
        UserError: no file can have this path, or a study makes such a file.
    """
    for ending in (f"_{kind}.csv" for kind in KINDS):
        if to.name.endswith(ending) and to.name != ending:
            to = to.with_name(to.name.removesuffix(ending))
    for kind in KINDS:
        _check_free(table_path(to, kind))
    return to


def check_no_folder(to: Path, runs: Iterable[Path]) -> None:
    """Refuse a folder, beside which the tables would lie, also if it is the folder of these runs.

    Raises:
        UserError: the path is a folder, or becomes one.
    """
    if to.is_dir() or any(run.resolve().is_relative_to(to.resolve()) for run in runs):
        raise UserError(
            f"--to names the beginning of file names, and {to} is a folder: add a name, such as "
            f"--to {to / 'mine'}"
        )


def _check_free(path: Path) -> None:
    """Refuse a file of the committed results that a study makes: it must hold the runs of the study."""
    if not path.resolve().is_relative_to(RESULTS.resolve()):
        return
    file = path.resolve().relative_to(RESULTS.resolve()).as_posix()
    for name in study_names():
        if file in load_study(name).files:
            raise UserError(
                f"{path} is made by the study {name}: choose another --to, or make it with python "
                f"scripts/study.py {name}"
            )
