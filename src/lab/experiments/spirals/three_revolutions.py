"""The committed tables of section 3.1 at three revolutions, and the settings that claims are judged at.

The paper leaves the number of revolutions open. The authors' code has three. We chose two, with which more of
the published results come out. So every claim that has runs at both is judged at both. Most runs at two have
half of the paper's epochs. The study ``spirals_whole_training`` has all of them, and the claims on accuracy
are judged there too as soon as all its runs are done.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.spirals.methods import CHANCE, METHODS, RUNS, read_methods, read_trials
from lab.figures.pending import count_runs

FOLDER = Path("spirals/three_revolutions")
RUNS_OF_THREE = FOLDER / "methods.csv"
TRIALS_OF_THREE = FOLDER / "trials.csv"
CORRELATIONS_OF_THREE = FOLDER / "correlations.csv"
INPUT_WEIGHTS_OF_THREE = FOLDER / "input_weights.csv"
DOMAINS_OF_THREE = FOLDER / "dann_features.csv"
MORE_OF_THREE = {"and_mask": FOLDER / "and_mask_runs.csv", "and_mask_l1": FOLDER / "and_mask_l1_runs.csv"}
"""The tables with more seeds at three revolutions, by method."""
WHOLE_RUNS = Path("spirals/whole_training")
"""The folder with the runs at two revolutions that have all of the paper's epochs."""

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

    @property
    def with_epochs(self) -> str:
        """The revolutions and the epochs, in words that continue a sentence."""
        return f"{self.words} and {self.epochs} epochs"


TWO, THREE, WHOLE = Setting(2.0, 46, 100), Setting(3.0, 93, 40), Setting(2.0, 93, 100)
SETTINGS = (TWO, THREE)


def whole_training(results: Path) -> tuple[int, int]:
    """Return how many runs of the study ``spirals_whole_training`` are done, and how many it has."""
    tables = [WHOLE_RUNS / f"{name}_runs.csv" for name in METHODS] + list(MORE_OF_THREE.values())
    counts = [count_runs(results / table) for table in tables]
    return sum(done for done, _ in counts), sum(n for _, n in counts)


def settings_of_methods(results: Path) -> tuple[Setting, ...]:
    """Return the settings at which all runs of the ten methods are done."""
    done, n = whole_training(results)
    return (TWO, WHOLE, THREE) if done == n else SETTINGS


def runs_at(results: Path, setting: Setting) -> pd.DataFrame:
    """Return the runs of every method's best configuration on new seeds; ``method`` is the method's label."""
    if setting != THREE:
        return read_methods(results, "runs", WHOLE_RUNS if setting == WHOLE else RUNS)
    runs = pd.read_csv(results / RUNS_OF_THREE)
    runs["method"] = runs.method.map(METHODS)
    if WHOLE in settings_of_methods(results):
        more = [
            pd.read_csv(results / path).assign(method=METHODS[name]) for name, path in MORE_OF_THREE.items()
        ]
        runs = pd.concat([runs, *more], ignore_index=True)
    return runs.fillna({"train/accuracy": CHANCE, "test/accuracy": CHANCE})


def trials_at(results: Path, setting: Setting, name: str) -> pd.DataFrame:
    """Return all trials of one method's search, by the name of the search."""
    if setting != THREE:
        return read_trials(results, name)
    trials = pd.read_csv(results / TRIALS_OF_THREE)
    of_method: pd.DataFrame = trials[trials.method == name]
    return of_method


def tests_at(results: Path, setting: Setting) -> Tests:
    """Return the test accuracies of every method's best configuration on new seeds."""
    runs = runs_at(results, setting)
    return {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}
