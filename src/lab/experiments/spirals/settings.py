"""The settings at which the claims on section 3.1 are judged, and the committed tables of each.

The paper leaves the number of revolutions and the first weights open. The authors' code has three revolutions
and Kaiming's weights. We also have two revolutions, with which more of the published results come out, and
PyTorch's weights. A claim is judged at every setting that it has runs at. Most runs at two revolutions have
half of the paper's epochs. The studies ``spirals_whole_training`` and ``spirals_kaiming_methods`` have all of
them. The claims on accuracy are judged there as soon as all runs of the study are done.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.spirals.methods import CHANCE, METHODS, RUNS, TRIALS, read_methods, read_trials
from lab.figures.pending import count_runs
from lab.figures.verdicts import AUTHORS_SETTING

FOLDER = Path("spirals/three_revolutions")
"""The folder with the tables of three revolutions and PyTorch's weights."""
RUNS_OF_THREE = FOLDER / "methods.csv"
TRIALS_OF_THREE = FOLDER / "trials.csv"
CORRELATIONS_OF_THREE = FOLDER / "correlations.csv"
INPUT_WEIGHTS_OF_THREE = FOLDER / "input_weights.csv"
DOMAINS_OF_THREE = FOLDER / "dann_features.csv"
MORE_OF_THREE = {"and_mask": FOLDER / "and_mask_runs.csv", "and_mask_l1": FOLDER / "and_mask_l1_runs.csv"}
"""The tables with more seeds at three revolutions, by method."""
WHOLE_RUNS = Path("spirals/whole_training")
"""The folder with the runs at two revolutions that have all of the paper's epochs."""

KAIMING = Path("spirals/kaiming")
"""The folder with the tables of networks that begin with the authors' weights."""
CORRELATIONS_OF_AUTHORS = KAIMING / "correlations.csv"
SCATTER_OF_AUTHORS = KAIMING / "correlations_scatter.csv"
INPUT_WEIGHTS_OF_AUTHORS = KAIMING / "input_weights.csv"
CONFIGURATION_OF_AUTHORS = KAIMING / "configuration_runs.csv"
TRIALS_OF_AUTHORS = Path("spirals/search/spirals_kaiming")

Tests = dict[str, pd.Series]
"""The test accuracies of the new seeds, by the method's label."""


class Setting(NamedTuple):
    """What the searches and the runs on new seeds were made with.

    Attributes:
        revolutions: the turns of a spiral.
        epochs: the epochs of a run on new seeds. The paper's runs have 93.
        trials: the trials of each method's search.
        authors_weights: whether the first weights are those of the authors' code, and not PyTorch's.
    """

    revolutions: float
    epochs: int
    trials: int
    authors_weights: bool = False

    @property
    def described(self) -> str:
        """The revolutions and the first weights, for a figure that stands alone."""
        weights = ", the authors' first weights" if self.authors_weights else ""
        return f"{self.revolutions:g} revolutions{weights}"

    @property
    def words(self) -> str:
        """The setting in words that continue a sentence."""
        if self.authors_weights:
            return AUTHORS_SETTING
        return f"with {self.revolutions:g} revolutions"

    @property
    def with_epochs(self) -> str:
        """The setting and its epochs, in words that continue a sentence."""
        return self.words if self.authors_weights else f"{self.words} and {self.epochs} epochs"


AUTHORS = Setting(3.0, 93, 40, authors_weights=True)
"""The authors' code for what the paper leaves open."""
TWO, THREE, WHOLE = Setting(2.0, 46, 100), Setting(3.0, 93, 40), Setting(2.0, 93, 100)
SETTINGS = (AUTHORS, TWO, THREE)
LEFT_OPEN = (
    "how many revolutions the spirals have, and with which weights a network begins. The paper does not say. "
    "The authors' code has three revolutions and Kaiming's weights, which we call the authors' setting."
)
FOLDERS = {AUTHORS: KAIMING, TWO: RUNS, WHOLE: WHOLE_RUNS}
"""The folders with the runs on new seeds; at three revolutions and PyTorch's weights they are one table."""
STUDIES = {AUTHORS: "spirals_kaiming_methods", WHOLE: "spirals_whole_training"}
"""The studies whose runs on new seeds a setting waits for."""


def pending_runs(results: Path) -> dict[str, tuple[int, int]]:
    """Return how many runs are done, and how many there will be, by study that adds settings or seeds."""
    tables = {
        STUDIES[AUTHORS]: [KAIMING / f"{name}_runs.csv" for name in METHODS],
        STUDIES[WHOLE]: [WHOLE_RUNS / f"{name}_runs.csv" for name in METHODS] + list(MORE_OF_THREE.values()),
    }
    counts = {study: [count_runs(results / path) for path in paths] for study, paths in tables.items()}
    return {study: (sum(d for d, _ in each), sum(n for _, n in each)) for study, each in counts.items()}


def settings_of_methods(results: Path) -> tuple[Setting, ...]:
    """Return the settings at which all runs of the ten methods are done."""
    pending = {study for study, (done, n) in pending_runs(results).items() if done < n}
    return tuple(setting for setting in (AUTHORS, TWO, WHOLE, THREE) if STUDIES.get(setting) not in pending)


def runs_at(results: Path, setting: Setting) -> pd.DataFrame:
    """Return the runs of every method's best configuration on new seeds; ``method`` is the method's label."""
    if setting != THREE:
        return read_methods(results, "runs", FOLDERS[setting])
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
        return read_trials(results, name, TRIALS_OF_AUTHORS if setting == AUTHORS else TRIALS)
    trials = pd.read_csv(results / TRIALS_OF_THREE)
    of_method: pd.DataFrame = trials[trials.method == name]
    return of_method


def tests_at(results: Path, setting: Setting) -> Tests:
    """Return the test accuracies of every method's best configuration on new seeds."""
    return tests_of(runs_at(results, setting))


def tests_of(runs: pd.DataFrame) -> Tests:
    """Return the test accuracies in the runs of one setting, from ``runs_at``."""
    return {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}
