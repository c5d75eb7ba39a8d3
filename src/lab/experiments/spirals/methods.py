"""What figures 6 and 14 and the claims about methods share: the methods and the reading of their runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import ttest_1samp

METHODS = {
    "standard": "no regulariser",
    "dropout": "dropout",
    "l1": "L1",
    "l2": "L2",
    "batch_norm": "BatchNorm",
    "dann": "DANN",
    "irm": "IRM",
    "and_mask": "AND-mask",
    "and_mask_l1": "AND-mask + L1",
    "and_mask_l2": "AND-mask + L2",
}
"""Searches of ``conf/search/spirals/spirals.yaml`` -> what figures and tables call their methods."""

JOINT = {
    f"{prefix}joint_{name}": (method, penalty)
    for prefix, method in (("", "plain training"), ("and_mask_", "AND-mask"))
    for name, penalty in (("none", "no penalty"), ("l1", "L1"), ("l2", "L2"))
}
"""Searches of table 1 as printed, with dropout and BatchNorm: each a method and a penalty on its weights."""

AND_MASKS = [label for label in METHODS.values() if label.startswith("AND-mask")]
BASELINES = [label for label in METHODS.values() if label not in AND_MASKS]

CHANCE = 0.5
LOWEST = 0.4
"""Where the axes of accuracies begin."""
LEVEL = 0.05
"""Of the tests against chance, shared among the baselines (Bonferroni)."""
PERFECT = 0.99
EPOCHS = 46
"""Of the trials, and of the best of them on new seeds; the paper's runs have 93."""
RUNS = Path("spirals/methods")
TRIALS = Path("spirals/search/spirals")


def read_methods(results: Path, kind: str) -> pd.DataFrame:
    """The ``runs`` or ``curves`` of every method with its best configuration, named in ``method``.

    A run that diverged has learned nothing: its accuracies are those of chance.
    """
    tables = [
        pd.read_csv(results / RUNS / f"{name}_{kind}.csv").assign(method=label)
        for name, label in METHODS.items()
    ]
    return pd.concat(tables, ignore_index=True).fillna({"train/accuracy": CHANCE, "test/accuracy": CHANCE})


def read_trials(results: Path, name: str) -> pd.DataFrame:
    """All trials of one method's search."""
    return pd.read_csv(results / TRIALS / f"{name}_trials.csv")


def trials_each(results: Path) -> str:
    """How many trials the searches completed, in words."""
    counts = [int((read_trials(results, name).state == "COMPLETE").sum()) for name in METHODS]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def chance_p_value(test: pd.Series) -> float:
    """One-sided t test over new seeds: how likely a mean this far above chance is if nothing was learned."""
    return float(ttest_1samp(test, CHANCE, alternative="greater").pvalue)


def as_in_the_paper(label: str, test: pd.Series) -> bool:
    """Whether an AND-mask's median is perfect, or a baseline not significantly above chance."""
    if label in AND_MASKS:
        return bool(test.median() >= PERFECT)
    return chance_p_value(test) >= LEVEL / len(BASELINES)


def seeds(runs: pd.DataFrame) -> str:
    """How many seeds the methods have, in words."""
    counts = runs.groupby("method").seed.nunique()
    fewest, most = counts.min(), counts.max()
    if fewest == most:
        return f"n = {fewest} seeds each"
    many = [label for label in METHODS.values() if counts.get(label) == most]
    return f"n = {most} seeds for {', '.join(many)}, at least {fewest} for the others"
