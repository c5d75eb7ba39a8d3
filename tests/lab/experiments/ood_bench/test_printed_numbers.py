"""The numbers that docs/ood_bench.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

from docs.page_text import tenths, word
from lab.experiments.ood_bench.results import ROWS, curves, runs
from lab.experiments.ood_bench.selection import selected


def test_the_first_trial(text: str, root: Path) -> None:
    trials = selected(runs(root / "results"), curves(root / "results"))
    first = trials[trials.trial == 0].pivot(index="row", columns="rule", values="accuracy")
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
