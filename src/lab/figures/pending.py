"""Tables of studies that are not finished: the runs that are done, how many are not, and an empty picture.

A study with ``unfinished: true`` commits a row for each run that nobody has made yet, whose ``stopped`` is
``pending``.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.figures.style import GREY, new_figure

STOPPED, PENDING = "stopped", "pending"


def read_done(path: Path) -> pd.DataFrame:
    """The rows of a table of runs that are done."""
    runs = pd.read_csv(path)
    done: pd.DataFrame = runs[runs[STOPPED] != PENDING]
    return done


def read_curves(path: Path) -> pd.DataFrame:
    """The rows of a table of curves; empty where no run is done."""
    return pd.read_csv(path)


def count_runs(path: Path) -> tuple[int, int]:
    """How many runs of a table are done, and how many it will have."""
    runs = pd.read_csv(path, usecols=[STOPPED])
    return int((runs[STOPPED] != PENDING).sum()), len(runs)


def progress_in_words(path: Path) -> str:
    """``12 of 30 runs, the others are pending``, or nothing where all are done."""
    done, total = count_runs(path)
    return "" if done == total else f"{done} of {total} runs, the others are pending"


def number_of_runs(progress: str) -> str:
    """``12 of 30 runs``, of what ``progress_in_words`` says: the number of a claim that is pending."""
    return progress.partition(",")[0]


def pending_figure(what: str) -> Figure:
    """A picture that says that the runs it would show are not done."""
    figure = new_figure()
    axes = figure.subplots()
    axes.axis("off")
    axes.text(0.5, 0.5, f"pending:\n{what}", ha="center", va="center", color=GREY, transform=axes.transAxes)
    return figure
