"""Tables of unfinished studies: the runs that are done, the number of the others, and an empty picture.

A study with ``unfinished: true`` commits a row for each run that nobody has made yet
(``lab.files.stopped_column``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.figures.style import GREY, new_figure
from lab.files.stopped_column import PENDING, STOPPED

Choose = Callable[[pd.DataFrame], pd.DataFrame]
_DONE = " are done"


def done_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table of runs whose run is done."""
    done: pd.DataFrame = runs[runs[STOPPED] != PENDING]
    return done


def read_done(path: Path) -> pd.DataFrame:
    """Read a table of runs and return the rows of runs that are done."""
    return done_rows(pd.read_csv(path))


def read_curves(path: Path) -> pd.DataFrame:
    """Read a table of curves, which is empty if no run is done."""
    return pd.read_csv(path)


def count_runs(path: Path, choose: Choose | None = None) -> tuple[int, int]:
    """Return how many runs of a table are done, and how many runs it will have.

    Args:
        path: the table.
        choose: takes the table and returns the rows that are counted; by default all.
    """
    runs = pd.read_csv(path, usecols=None if choose else [STOPPED])
    counted = choose(runs) if choose else runs
    return len(done_rows(counted)), len(counted)


def progress_in_words(path: Path, choose: Choose | None = None) -> str:
    """Return ``12 of 30 runs are done``, or an empty text if all runs are done.

    The arguments are those of ``count_runs``.
    """
    done, total = count_runs(path, choose)
    return "" if done == total else f"{done} of {total} runs{_DONE}"


def number_of_runs(progress: str) -> str:
    """Return ``12 of 30 runs``, the beginning of ``progress_in_words``, as the number of a pending claim."""
    return progress.removesuffix(_DONE)


def pending_figure(what: str) -> Figure:
    """Return a picture which says that its runs are not done."""
    figure = new_figure()
    axes = figure.subplots()
    axes.axis("off")
    axes.text(0.5, 0.5, f"pending:\n{what}", ha="center", va="center", color=GREY, transform=axes.transAxes)
    return figure
