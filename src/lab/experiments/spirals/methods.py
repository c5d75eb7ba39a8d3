"""The methods and the functions that read their runs, for figures 6 and 14 and the claims about methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from scipy.stats import t, ttest_1samp

from lab.figures.verdicts import significant

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
"""The searches of ``conf/search/spirals/spirals.yaml``, with their methods' names in figures and tables."""

JOINT = {
    f"{prefix}joint_{name}": (method, penalty)
    for prefix, method in (("", "plain training"), ("and_mask_", "AND-mask"))
    for name, penalty in (("none", "no penalty"), ("l1", "L1"), ("l2", "L2"))
}
"""The searches of table 1 as printed, with dropout and BatchNorm.

Each search has a method and a penalty on the weights."""

AND_MASKS = [label for label in METHODS.values() if label.startswith("AND-mask")]
BASELINES = [label for label in METHODS.values() if label not in AND_MASKS]
NAMED_AT_CHANCE = [label for label in BASELINES if label != METHODS["irm"]]
"""The baselines of which the paper says that none is above chance. It says nothing of this of IRM."""

CHANCE = 0.5
LOWEST = 0.4
"""The accuracy at which the axes begin."""
PERFECT = 0.99
EPOCHS = 46
"""The epochs of the trials, and of the best trial on new seeds. The paper's runs have 93 epochs."""
RUNS = Path("spirals/methods")
TRIALS = Path("spirals/search/spirals")


def read_methods(results: Path, kind: str, folder: Path = RUNS) -> pd.DataFrame:
    """Return the ``runs`` or ``curves`` of every method with its best configuration.

    The column ``method`` names the method. A run that diverged has learned nothing, so its accuracies are
    set to chance.
    """
    tables = [
        pd.read_csv(results / folder / f"{name}_{kind}.csv").assign(method=label)
        for name, label in METHODS.items()
    ]
    return pd.concat(tables, ignore_index=True).fillna({"train/accuracy": CHANCE, "test/accuracy": CHANCE})


def read_trials(results: Path, name: str, folder: Path = TRIALS) -> pd.DataFrame:
    """Return all trials of one method's search."""
    return pd.read_csv(results / folder / f"{name}_trials.csv")


def chance_p_value(test: pd.Series) -> float:
    """Return the p value of a one-sided t test over new seeds.

    It is the probability of a mean this far above chance if nothing was learned.
    """
    return float(ttest_1samp(test, CHANCE, alternative="greater").pvalue)


def upper_end(test: pd.Series) -> float:
    """Return the upper end of the 95 % t interval of the mean over new seeds."""
    return float(test.mean() + t.ppf(0.975, len(test) - 1) * test.std() / len(test) ** 0.5)


def above_chance(tests: Mapping[str, pd.Series], labels: Sequence[str] = BASELINES) -> dict[str, bool]:
    """Return which baselines are significantly above chance. They share the level (Holm).

    Args:
        tests: the test accuracies of the new seeds, by label; those of other methods are ignored.
        labels: the baselines that are tested together.
    """
    found = significant([chance_p_value(tests[label]) for label in labels])
    return dict(zip(labels, found, strict=True))


def seeds(runs: pd.DataFrame) -> str:
    """Return how many seeds the methods have, in words."""
    counts = runs.groupby("method").seed.nunique()
    fewest, most = counts.min(), counts.max()
    if fewest == most:
        return f"n = {fewest} seeds each"
    many = [label for label in METHODS.values() if counts.get(label) == most]
    return f"n = {most} seeds for {', '.join(many)}, at least {fewest} for the others"
