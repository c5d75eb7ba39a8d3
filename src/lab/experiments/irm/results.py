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

OWN_PACE = "own pace"

SCHEDULES = {
    "constant 1": "constant: 1",
    "constant 10": "constant: 10",
    "constant 100": "constant: 100",
    "constant 1000": "constant: 1,000",
    "constant 10000": "constant: 10,000",
    "constant 100000": "constant: 100,000",
    "constant": "constant: the searched weight",
    "ramp 1.6": "ramp: by the power of 1.6",
    "step": "step: plain training, then a jump",
    "step to 10": "step: a jump to 10 only",
    OWN_PACE: "ramp: power 1.6 over 9,480 batches",
    "ramp 8": "ramp: by the power of 8 (late)",
}
NAMED_WEIGHTS = ("1", "10", "100", "1000", "10000", "100000")
"""The final weights of the penalty that were run besides the weight that the search found."""
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


def pending(results: Path, *names: str) -> str:
    """Return how many runs of the first unfinished study are done, in words; empty if all are done."""
    for name in names:
        words = progress_in_words(results / FOLDER / f"{name}_runs.csv")
        if words:
            return words
    return ""


def stability_runs(results: Path) -> pd.DataFrame:
    """Return the finished runs of both studies of schedules, with three more columns.

    ``schedule`` is a key of ``SCHEDULES``. ``passed`` says whether the run passes the bar at some evaluation.
    There the reimplementation would have stopped it. ``outcome`` is a key of ``OUTCOMES``.
    """
    runs = _done(results, "stability")
    runs = runs.assign(schedule=[_schedule(run) for _, run in runs.iterrows()])
    ramp = _done(results, "ramp").assign(schedule=OWN_PACE)
    runs = pd.concat([table for table in (runs, ramp) if len(table)] or [runs], ignore_index=True)
    return runs.assign(outcome=[outcome(run) for _, run in runs.iterrows()])


def _done(results: Path, name: str) -> pd.DataFrame:
    """Return the finished runs of a study with ``passed``, which its curves decide."""
    runs, curves = (
        read_done(results / FOLDER / f"{name}_runs.csv"),
        read_curves(results / FOLDER / f"{name}_curves.csv"),
    )
    stopped = set(curves[passes(curves)].run) if len(curves) else set()
    return runs.assign(passed=runs.run.isin(stopped))


def _schedule(run: pd.Series) -> str:
    kind = str(run["aggregator.schedule"])
    if kind == "ramp":
        return f"ramp {float(run['aggregator.ramp_power']):g}"
    weight = f"{float(run['aggregator.penalty_weight']):g}"
    # Any other weight is the one that the search found.
    return f"{kind} {'to ' * (kind == 'step')}{weight}" if weight in NAMED_WEIGHTS else kind


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
