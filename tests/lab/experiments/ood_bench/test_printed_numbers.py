"""The numbers that docs/ood_bench.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

from docs.page_text import tenths, word
from lab.experiments.ood_bench.comparison import compared


def test_the_first_trial(text: str, root: Path) -> None:
    table = compared(root / "results")
    found = table[table.trials > 0].set_index(["rule", "row"])
    n = found.index.get_level_values("row").nunique()
    assert set(found.trials) == {1}
    assert f"So far {word(n)} methods have one trial of three" in text
    train, oracle = (found.loc[rule].accuracy / 100 for rule in table.rule.unique())
    assert (
        f"each of them has {tenths(train.min())} to {tenths(train.max())} % in the test, near the 10 % of "
        "a prediction by the colour"
    ) in text
    first, second, third = oracle.nlargest(3)
    assert list(oracle.nlargest(3).index) == ["irm_penalty", "mmd", "iga"]
    assert (
        f"IRM has {tenths(first)} %, MMD {tenths(second)} % and IGA {tenths(third)} %, plain training "
        f"{tenths(oracle['mean'])} % and the rescaled AND-mask {tenths(oracle['rescaled_and_mask'])} %"
    ) in text
