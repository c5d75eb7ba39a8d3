"""The numbers that docs/ood_bench.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

from docs.page_text import tenths, word
from lab.experiments.ood_bench.results import ROWS, curves, runs
from lab.experiments.ood_bench.selection import selected

UNTRAINED = ["example_and_mask", "iga", "irm_penalty", "late_v_rex", "mmd", "sand_mask"]


def test_the_first_trial(text: str, root: Path) -> None:
    trials = selected(runs(root / "results"), curves(root / "results"))
    chosen = trials[trials.trial == 0].set_index(["row", "rule"])
    first = chosen.accuracy.unstack()
    assert set(first.index) == set(ROWS)
    assert f"So far all {word(len(ROWS))} methods have the first trial of three" in text
    train, oracle = first.training_domain, first.test_domain
    assert (
        f"each method has {tenths(train.min())} to {tenths(train.max())} % in the test, near the 10 % of a "
        "prediction by the colour"
    ) in text
    best, second, third = oracle.nlargest(3)
    assert list(oracle.nlargest(3).index) == ["irm_penalty", "example_and_mask", "mmd"]
    assert (
        f"IRM has {tenths(best)} %, the AND-mask over examples {tenths(second)} % and MMD {tenths(third)} %. "
        f"Plain training has {tenths(oracle['mean'])} %, and the AND-mask over environments "
        f"{tenths(oracle['rescaled_and_mask'])} % with rescaling and {tenths(oracle['and_mask'])} % without"
    ) in text
    in_training = chosen.in_training.unstack().test_domain
    assert sorted(oracle.index[oracle > 0.45]) == sorted([*UNTRAINED, "fishr"])
    nearly, n = in_training[UNTRAINED], word(len(UNTRAINED))
    assert (
        f"Seven methods are above 45 % there. In {n} of them the oracle chose a network that is right in "
        f"{tenths(nearly.min())} to {tenths(nearly.max())} % of held-out images of the training domains"
    ) in text
    assert f"The seventh is Fishr, with {tenths(oracle.fishr)} % in the test" in text
    assert f"and {tenths(in_training.fishr)} % on the training domains" in text
    others = in_training.drop([*UNTRAINED, "fishr"])
    assert f"The other ten have {tenths(others.min())} to {tenths(others.max())} % there" in text
