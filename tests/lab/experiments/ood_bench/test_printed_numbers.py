"""The numbers that docs/ood_bench.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import tenths, word
from lab.experiments.drawn_trials import METHODS, N_TRIALS, RULES, selected
from lab.experiments.ood_bench.comparison import compared, mean_and_error
from lab.experiments.ood_bench.results import curves, runs

NAMED = ["irm_penalty", "example_and_mask", "late_v_rex", "mmd", "iga"]
GUESSING = ["irm_penalty", "late_v_rex", "mmd", "iga"]
APART = [*GUESSING, "example_and_mask", "sand_mask", "fishr"]


@pytest.fixture(scope="module")
def oracle(root: Path) -> pd.DataFrame:
    """The trials whose options the test domain chose."""
    trials = selected(runs(root / "results"), curves(root / "results"))
    return trials[trials["rule"] == "test_domain"]


def from_to(shares: pd.Series) -> str:
    return f"{tenths(shares.min())} to {tenths(shares.max())} %"


def test_the_accuracies_by_both_rules(text: str, root: Path) -> None:
    table = compared(root / "results").set_index(["rule", "row"])
    assert set(table.trials) == {N_TRIALS}
    assert f"All {word(len(METHODS))} methods have {word(N_TRIALS)} trials" in text
    train, oracle = (table.loc[rule] for rule in RULES)
    assert f"the methods have {from_to(train.accuracy / 100)} in the test" in text
    assert list(oracle.accuracy.nlargest(len(NAMED)).index) == NAMED
    irm, examples, v_rex, mmd, iga, plain, rescaled, mask = (
        mean_and_error(oracle.accuracy[row], oracle.error[row])
        for row in [*NAMED, "mean", "rescaled_and_mask", "and_mask"]
    )
    assert (
        f"IRM has {irm} %, the AND-mask over examples {examples} %, V-REx {v_rex} %, MMD {mmd} % "
        f"and IGA {iga} %"
    ) in text
    assert (
        f"Plain training has {plain} %, and the AND-mask over environments {rescaled} % with rescaling "
        f"and {mask} % without"
    ) in text


def test_the_hours(text: str, root: Path) -> None:
    assert f"The runs took {runs(root / 'results').wall_seconds.sum() / 3600:.1f} core-hours" in text


def test_the_networks_near_guessing(text: str, oracle: pd.DataFrame) -> None:
    guessing = oracle.in_training[oracle.row.isin(GUESSING)]
    assert (
        f"In each of the {word(len(guessing))} trials of IRM, V-REx, MMD and IGA the oracle chose a network "
        f"that is right in {from_to(guessing)} of these held-out images"
    ) in text
    examples = oracle.in_training[oracle.row == "example_and_mask"]
    assert f"networks of the AND-mask over examples are right in {from_to(examples)} of these images" in text
    assert examples.max() < 0.5
    sand = oracle[oracle.row == "sand_mask"]
    assert sand.draw.tolist() == [0] * N_TRIALS
    assert f"It has {_in_test(sand)} % in the test" in text


def test_the_networks_that_learned_something(text: str, oracle: pd.DataFrame) -> None:
    fishr, others = oracle[oracle.row == "fishr"], oracle[~oracle.row.isin(APART)]
    assert (
        f"Fishr has {_in_test(fishr)} % in the test and {from_to(fishr.in_training)} on the training domains"
    ) in text
    assert oracle.groupby("row").accuracy.mean()[others.row.unique()].max() < 0.4
    assert (
        f"The trials of the other {word(others.row.nunique())} methods have {from_to(others.in_training)} on "
        f"the training domains and {from_to(others.accuracy)} in the test"
    ) in text


def _in_test(trials: pd.DataFrame) -> str:
    own = 100 * trials.accuracy
    return mean_and_error(own.mean(), own.sem())
