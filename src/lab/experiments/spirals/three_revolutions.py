"""The committed tables of section 3.1 at three revolutions, and the two settings that claims are judged at.

The paper leaves the number of revolutions open. The authors' code has three. We chose two, with which more of
the published results come out. So every claim that has runs at both is judged at both.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.spirals.methods import CHANCE, METHODS, read_methods, read_trials

FOLDER = Path("spirals/three_revolutions")
RUNS_OF_THREE = FOLDER / "methods.csv"
TRIALS_OF_THREE = FOLDER / "trials.csv"
CORRELATIONS_OF_THREE = FOLDER / "correlations.csv"
INPUT_WEIGHTS_OF_THREE = FOLDER / "input_weights.csv"
DOMAINS_OF_THREE = FOLDER / "dann_features.csv"


Tests = dict[str, pd.Series]
"""The test accuracies of the new seeds, by the method's label."""


class Setting(NamedTuple):
    """What the searches and the runs on new seeds were made with.

    Attributes:
        revolutions: the turns of a spiral.
        epochs: the epochs of a run on new seeds. The paper's runs have 93.
        trials: the trials of each method's search.
    """

    revolutions: float
    epochs: int
    trials: int

    @property
    def words(self) -> str:
        """The setting in words that continue a sentence."""
        return f"with {self.revolutions:g} revolutions"


TWO, THREE = Setting(2.0, 46, 100), Setting(3.0, 93, 40)
SETTINGS = (TWO, THREE)


def runs_at(results: Path, setting: Setting) -> pd.DataFrame:
    """Return the runs of every method's best configuration on new seeds; ``method`` is the method's label."""
    if setting == TWO:
        return read_methods(results, "runs")
    runs = pd.read_csv(results / RUNS_OF_THREE)
    runs["method"] = runs.method.map(METHODS)
    return runs.fillna({"train/accuracy": CHANCE, "test/accuracy": CHANCE})


def trials_at(results: Path, setting: Setting, name: str) -> pd.DataFrame:
    """Return all trials of one method's search, by the name of the search."""
    if setting == TWO:
        return read_trials(results, name)
    trials = pd.read_csv(results / TRIALS_OF_THREE)
    of_method: pd.DataFrame = trials[trials.method == name]
    return of_method


def tests_at(results: Path, setting: Setting) -> Tests:
    """Return the test accuracies of every method's best configuration on new seeds."""
    runs = runs_at(results, setting)
    return {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}
