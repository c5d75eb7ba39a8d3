"""The numbers that docs/ood_bench.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import tenths, word
from lab.experiments.drawn_trials import N_TRIALS, RULES, selected
from lab.experiments.ood_bench.comparison import compared, mean_and_error
from lab.experiments.ood_bench.results import ROWS, curves, runs

THEIRS = [key for key, row in ROWS.items() if row.theirs]
OURS = [key for key in ROWS if key not in THEIRS]
GUESSING = ["irm_penalty", "late_v_rex", "mmd", "iga"]


@pytest.fixture(scope="module")
def trials(root: Path) -> pd.DataFrame:
    return selected(runs(root / "results"), curves(root / "results"))


def test_the_algorithms_of_ood_bench(text: str, root: Path) -> None:
    table = compared(root / "results").set_index(["rule", "row"])
    train, oracle = (table.loc[rule].loc[THEIRS] for rule in ("training_domain", "test_domain"))
    assert set(oracle.trials) == {N_TRIALS}
    assert f"The {word(len(THEIRS))} algorithms of OoD-Bench have {word(N_TRIALS)} trials" in text
    assert (
        f"the {word(len(THEIRS))} have {train.accuracy.min():.1f} to {train.accuracy.max():.1f} % in the test"
    ) in text
    assert list(oracle.accuracy.nlargest(4).index) == GUESSING
    irm, v_rex, mmd, iga, plain, mask = (
        mean_and_error(oracle.accuracy[row], oracle.error[row])
        for row in [*GUESSING, "mean", "rescaled_and_mask"]
    )
    assert f"IRM has {irm} %, V-REx {v_rex} %, MMD {mmd} % and IGA {iga} %" in text
    assert f"Plain training has {plain} %, and the rescaled AND-mask {mask} %" in text


def test_the_choices_of_the_oracle_on_the_training_domains(text: str, trials: pd.DataFrame) -> None:
    own = trials[(trials.rule == "test_domain") & trials.row.isin(THEIRS)]
    some, others = (own[own.row.isin(GUESSING) == guesses].in_training for guesses in (True, False))
    assert (
        f"In each of the {word(len(some))} trials of IRM, V-REx, MMD and IGA it chose a network that is "
        f"right in {tenths(some.min())} to {tenths(some.max())} % of held-out images"
    ) in text
    assert len(others) == 7 * N_TRIALS
    low, high = tenths(others.min()), tenths(others.max())
    assert f"The trials of the other seven algorithms have {low} to {high} % there" in text


def test_the_first_trial_of_the_other_methods(text: str, trials: pd.DataFrame) -> None:
    first = trials[(trials.rule == "test_domain") & (trials.trial == 0)].set_index("row")
    assert f"The other {word(len(OURS))} methods do not all have them yet" in text
    assert trials.row.isin(OURS).sum() < len(OURS) * N_TRIALS * len(RULES)
    named = ["example_and_mask", "sand_mask", "fishr"]
    assert sorted(first.accuracy[OURS].nlargest(3).index) == sorted(named)
    mask, sand, fishr = map(tenths, first.accuracy[named])
    assert (
        f"the AND-mask over examples has {mask} % in the test, the SAND-mask {sand} % and Fishr {fishr} %"
        in text
    )
    mask, sand, fishr = map(tenths, first.in_training[named])
    assert f"On the training domains these choices have {mask} %, {sand} % and {fishr} %" in text
    assert first.draw["sand_mask"] == 0
    assert f"without rescaling has {tenths(first.accuracy['and_mask'])} % in the test" in text
