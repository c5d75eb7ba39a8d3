"""The constants and functions of the IRM figures and tables: published values, row names, outcomes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.pending import progress_in_words, read_curves, read_done
from lab.figures.style import COLORS, LABELS

FOLDER = Path("irm")

EXPLAINER_WEIGHTS = {
    "irm_penalty": (1.006, 1.000, 0.014, 0.015),
    "mean": (0.649, 0.691, 0.335, 0.340),
}
"""The learned weights of X1, X2, Z1 and Z2 that the explainer prints."""

EXPLAINER_ERRORS = {
    "irm_penalty": (0.0006, 0.0198, 1.9405),
    "mean": (0.2302, 0.2371, 1.1020),
}
"""The explainer's test errors at s = 0.01, 0.1 and 1."""

PUBLISHED = {"irm_penalty": (0.708, 0.669), "mean": (0.874, 0.171), "grayscale_mean": (0.735, 0.730)}
"""Published train and test accuracy on Colored MNIST, mean over ten restarts (Arjovsky et al., table 1)."""
PUBLISHED_DEVIATIONS = {
    "irm_penalty": (0.009, 0.025),
    "mean": (0.002, 0.006),
    "grayscale_mean": (0.002, 0.004),
}
"""Published standard deviations over the same restarts, from the same table."""
PUBLISHED_RESTARTS = 10

SCALES = ("0.01", "0.1", "1")
ROWS = ("mean", "irm_penalty", "grayscale_mean", "and_mask", "geometric_mean")
ROW_LABELS = {
    **LABELS,
    "grayscale_mean": "grayscale oracle",
    "grayscale_and_mask": "grayscale with AND-mask",
}
ROW_COLORS = {**COLORS, "grayscale_mean": "#000000"}

STABILITY = "stability"
"""The study of schedules of the penalty's weight."""
SCHEDULES = {
    "constant 1": "constant: 1",
    "constant 10": "constant: 10",
    "constant 100": "constant: 100",
    "constant 231": "constant: 231, as the ramp's last",
    "constant 1000": "constant: 1,000",
    "constant 10000": "constant: 10,000",
    "constant 100000": "constant: 100,000",
    "step 10": "step: plain first, then 10",
    "step 231": "step: plain first, then 231",
    "step 10000": "step: plain first, then 10,000",
    "ramp 1.6": "ramp: power 1.6, to 231",
    "ramp 8": "ramp: power 8 (late), to 231",
}
OUTCOMES = {
    "success": "train > 70 %, test > 60 % at some evaluation",
    "collapsed": "collapsed to a constant",
    "plain": "plain training's solution (train > 80 %, test < 30 %)",
    "between": "in between",
}
OUTCOME_COLORS = {"success": "#009E73", "collapsed": "#000000", "plain": "#D55E00", "between": "#56B4E9"}


def colored_runs(results: Path, kind: str = "runs", name: str = "colored") -> pd.DataFrame:
    """Return the finished runs on Colored MNIST, or their curves, with a column ``row``.

    The values of ``row`` are keys of ``ROW_LABELS``. ``name`` is ``colored`` for the settings that the search
    found, or ``paper`` for the protocol of the IRM authors.
    """
    read = read_curves if kind == "curves" else read_done
    table = read(results / FOLDER / f"{name}_{kind}.csv")
    if table.empty:
        return table.assign(row=pd.Series(dtype=str))
    gray = "grayscale_" + table.aggregator
    # pandas reads truth values as text if the table has rows of pending runs.
    is_gray = table["dataset.grayscale"].astype(str) == "True"
    return table.assign(row=table.aggregator.where(~is_gray, gray))


def mean_and_deviation(values: pd.Series) -> str:
    """Return mean and standard deviation of accuracies in per cent. A single accuracy has no deviation."""
    deviation = f" ± {100 * values.std():.1f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.1f}{deviation}"


def pending(results: Path, study: str) -> str:
    """Return how many runs of an unfinished study are done, in words; empty if all are done."""
    return progress_in_words(results / FOLDER / f"{study}_runs.csv")


def stability_runs(results: Path) -> pd.DataFrame:
    """Return the finished runs of all schedules, with three more columns.

    ``schedule`` is a key of ``SCHEDULES``. ``passed`` says whether the run passes the bar at some evaluation.
    There the reimplementation would have stopped it. ``outcome`` is a key of ``OUTCOMES``.
    """
    runs = read_done(results / FOLDER / f"{STABILITY}_runs.csv")
    curves = read_curves(results / FOLDER / f"{STABILITY}_curves.csv")
    stopped = set(curves[passes(curves)].run) if len(curves) else set()
    runs = runs.assign(passed=runs.run.isin(stopped))
    return runs.assign(
        schedule=[_schedule(run) for _, run in runs.iterrows()],
        outcome=[outcome(run) for _, run in runs.iterrows()],
    )


def _schedule(run: pd.Series) -> str:
    kind = str(run["aggregator.schedule"])
    number = "aggregator.ramp_power" if kind == "ramp" else "aggregator.penalty_weight"
    return f"{kind} {float(run[number]):g}"


def passes(table: pd.DataFrame) -> pd.Series:
    """Return which runs, or evaluations, are above the bar that the reimplementation reaches."""
    above: pd.Series = (table["train/accuracy"] > 0.7) & (table["test/accuracy"] > 0.6)
    return above


def outcome(run: pd.Series) -> str:
    """Return the outcome of a run, a key of ``OUTCOMES``.

    A run that passes the bar at some evaluation is a success, whatever it does later. Of the others, a run
    has collapsed if it said so in a warning, which does not depend on test data.
    """
    train, test = run["train/accuracy"], run["test/accuracy"]
    if run["passed"]:
        return "success"
    if str(run.get("warning", "")).startswith("the outputs have collapsed"):
        return "collapsed"
    return "plain" if train > 0.8 and test < 0.3 else "between"
