"""What the IRM figures and tables share: published values, names of rows, kinds of outcome."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.figures.style import COLORS, LABELS

FOLDER = Path("irm")

EXPLAINER_WEIGHTS = {
    "irm_penalty": (1.006, 1.000, 0.014, 0.015),
    "mean": (0.649, 0.691, 0.335, 0.340),
}
"""Learned weights of X1, X2, Z1, Z2 that the explainer prints."""

EXPLAINER_ERRORS = {
    "irm_penalty": (0.0006, 0.0198, 1.9405),
    "mean": (0.2302, 0.2371, 1.1020),
}
"""Its test errors at s = 0.01, 0.1, 1."""

PUBLISHED = {"irm_penalty": (0.708, 0.669), "mean": (0.874, 0.171), "grayscale_mean": (0.735, 0.730)}
"""Train and test accuracy on Colored MNIST (Arjovsky et al., table 1)."""

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
    "constant": "constant",
    "step": "step: plain training, then a jump",
    "step to 10": "step: a jump to 10 only",
    "ramp 1.6": "ramp: by the power of 1.6",
    OWN_PACE: "ramp: power 1.6 over 9,460 batches",
    "ramp 8": "ramp: by the power of 8 (late)",
}
OUTCOMES = {
    "success": "train > 70 %, test > 60 %",
    "collapsed": "collapsed to a constant",
    "plain": "plain training's solution (train > 80 %, test < 30 %)",
    "between": "in between",
}
OUTCOME_COLORS = {"success": "#009E73", "collapsed": "#000000", "plain": "#D55E00", "between": "#56B4E9"}


def colored_runs(results: Path, kind: str = "runs") -> pd.DataFrame:
    """Runs or curves on the colored digits with a column ``row``, a key of ``ROW_LABELS``."""
    table = pd.read_csv(results / FOLDER / f"colored_{kind}.csv")
    gray = "grayscale_" + table.aggregator
    table["row"] = table.aggregator.where(~table["dataset.grayscale"].astype(bool), gray)
    return table


def stability_runs(results: Path) -> pd.DataFrame:
    """Runs of the studies of schedules with columns ``schedule``, a key of ``SCHEDULES``, and ``outcome``."""
    runs = pd.read_csv(results / FOLDER / "stability_runs.csv")
    power = runs["aggregator.ramp_power"].map("{:g}".format)
    is_ramp = runs["aggregator.schedule"] == "ramp"
    schedule = runs["aggregator.schedule"].where(~is_ramp, "ramp " + power)
    runs["schedule"] = schedule.where(runs["aggregator.penalty_weight"] > 10, schedule + " to 10")
    ramp = pd.read_csv(results / FOLDER / "ramp_runs.csv").assign(schedule=OWN_PACE)
    runs = pd.concat([runs, ramp], ignore_index=True)
    runs["outcome"] = [outcome(run) for _, run in runs.iterrows()]
    return runs


def outcome(run: pd.Series) -> str:
    """A key of ``OUTCOMES``. Collapse is what the run itself warned of, without looking at test data."""
    train, test = run["train/accuracy"], run["test/accuracy"]
    if str(run.get("warning", "")).startswith("the outputs have collapsed"):
        return "collapsed"
    if train > 0.7 and test > 0.6:
        return "success"
    return "plain" if train > 0.8 and test < 0.3 else "between"
