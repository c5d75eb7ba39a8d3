"""The committed runs, and the condition under which methods are compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from lab.figures.pending import progress_in_words, read_done

FOLDER = Path("skip_intervals")
"""The folder of this experiment, below the folder of committed files."""
DOMAINS = {
    "room_runner": "room runner",
    "room_runner_noisy": "noisy room runner",
    "funnel_board": "funnel board",
}
METHODS = {
    "adaptive": "adaptive",
    "adaptive_without_exploration": "adaptive, without exploration",
    "fixed_1": "fixed, 1 frame",
    "fixed_2": "fixed, 2 frames",
    "fixed_3": "fixed, 3 frames",
    "fixed_4": "fixed, 4 frames",
    "fixed_5": "fixed, 5 frames",
}
SCORE = "final/validation/accuracy"
"""The score by which methods are compared: the hard accuracy, as the mean of the last five evaluations."""
CALLS = "final/validation/model_evaluations"
"""The calls of the simulator in a rollout."""
TRAINED = "train/model_evaluations"
"""The calls of the simulator in all of training, as in the thesis's figure 2.10."""
COUNTED = {"room_runner": CALLS, "room_runner_noisy": TRAINED, "funnel_board": CALLS}
"""The calls that are compared: those in training only where a step has whole trajectories.

Otherwise all methods train on windows of the same number of calls.
"""
AHEAD = 0.1
"""The difference by which a method must beat the best shortcut before methods are compared."""
SEEDS = 3
"""The smallest number of seeds. Each of the method's seeds must beat the best shortcut."""


def made(results: Path) -> list[str]:
    """Return the domains that have finished runs."""
    return [name for name in DOMAINS if _path(results, name, "runs").exists() and len(runs(results, name))]


def unfinished(results: Path, domain: str, compared: Callable[[str], bool]) -> str:
    """Return how many runs of the compared methods are done, in words; empty if all are."""
    return progress_in_words(_path(results, domain, "runs"), lambda table: table[table.method.map(compared)])


def runs(results: Path, domain: str) -> pd.DataFrame:
    """Read the finished runs of a domain, one row per run."""
    return read_done(_path(results, domain, "runs"))


def trials(results: Path) -> dict[str, pd.DataFrame]:
    """Read the completed trials of the searches on the room runner, one row per trial, by method."""
    paths = {
        method: results / FOLDER / "search" / "room_runner" / f"{method}_trials.csv" for method in METHODS
    }
    tables = {method: pd.read_csv(path) for method, path in paths.items() if path.exists()}
    return {method: table[table.state == "COMPLETE"] for method, table in tables.items()}


def methods_in(table: pd.DataFrame) -> list[str]:
    """Return the methods of a table of runs or curves, in the order of ``METHODS``."""
    return [key for key in METHODS if key in set(table.method)]


def curves(results: Path, domain: str) -> pd.DataFrame:
    """Read the curves of a domain, one row per evaluation."""
    return pd.read_csv(_path(results, domain, "curves"))


def _path(results: Path, domain: str, kind: str) -> Path:
    return results / FOLDER / f"{domain}_{kind}.csv"


def best_shortcut(table: pd.DataFrame) -> tuple[str, float]:
    """Return the name and the accuracy of the best rule that looks only at the first frame.

    The accuracy is a mean over the runs, which may have trajectories of their own.
    """
    shortcuts = table[[key for key in table if str(key).startswith("shortcut/")]].mean()
    best = str(shortcuts.idxmax())
    return best.partition("/")[2], float(shortcuts[best])


def bar(table: pd.DataFrame) -> float:
    """Return the accuracy from which on a method counts as having learned more than shortcuts."""
    return best_shortcut(table)[1] + AHEAD


def passes(table: pd.DataFrame) -> bool:
    """Return whether some method beats the best shortcut by ten points with each of at least three seeds."""
    scores = table.groupby("method")[SCORE].agg(["min", "count"])
    return bool(((scores["min"] >= bar(table)) & (scores["count"] >= SEEDS)).any())
