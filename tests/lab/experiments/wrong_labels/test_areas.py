"""Wrong labels of real digits are found among the examples that oppose the others."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from lab.experiments.wrong_labels.figures import wrong_labels_found
from lab.experiments.wrong_labels.measurements import areas as measured

FILE = Path("wrong_labels", "areas.csv")


def test_a_quarter_of_the_labels_is_another_digit() -> None:
    labels = torch.arange(10_000) % 10
    noisy, wrong = measured.wrong_labels(labels, torch.Generator().manual_seed(0))
    assert torch.equal(noisy != labels, wrong)
    assert 0.24 < wrong.float().mean() < 0.26
    assert set(noisy[wrong].tolist()) == set(range(10))


def test_the_measurement_makes_what_is_committed(root: Path) -> None:
    """The epochs before are the same whatever number of them follows. Sums are rounded by the machine."""
    found = measured.measure(0, epochs=(1, 2))[FILE.as_posix()]
    assert isinstance(found, pd.DataFrame)
    committed = pd.read_csv(root / "results" / FILE)
    committed = committed[(committed.seed == 0) & (committed.epochs <= 2)].drop(columns="part")
    pd.testing.assert_frame_equal(found, committed.reset_index(drop=True), rtol=0.02)


def test_what_the_page_says_of_the_numbers(root: Path, text: str) -> None:
    areas = pd.read_csv(root / "results" / FILE)
    assert sorted(areas.seed.unique()) == [0, 1, 2, 3, 4]
    means = areas[areas.components == "all"].groupby("epochs")[["dissent", "opposition", "risk"]].mean()
    drawn = areas[areas.components == "default"].groupby("epochs").opposition.mean()
    assert (
        "The risk is the best of the three on average from the second epoch on, and in each of the five "
        "seeds from the third."
    ) in text
    assert means.opposition[1] > means.risk[1]
    later = means[means.index >= 2]
    assert (later.risk > later[["dissent", "opposition"]].max(axis=1)).all()
    each = areas[(areas.components == "all") & (areas.epochs > 1)]
    behind = each[each.risk <= each[["dissent", "opposition"]].max(axis=1)]
    assert set(behind.epochs) == {2}
    assert (means.opposition > means.dissent)[[1, 2, 3]].all()
    assert (means.dissent > means.opposition)[[20, 40]].all()
    assert "With 256 components the opposition finds them less well in the first epochs." in text
    assert (drawn < means.opposition)[[1, 2, 3, 5]].all()
    assert len(wrong_labels_found.tabulate(root / "results")) == len(means)


@pytest.mark.slow
def test_early_wrong_labels_oppose_the_others_and_late_they_dissent_by_sign() -> None:
    tables = [measured.measure(seed, epochs=(2, 40))[FILE.as_posix()] for seed in range(5)]
    rows = pd.concat([table for table in tables if isinstance(table, pd.DataFrame)])
    means = rows[rows.components == "all"].groupby("epochs")[["dissent", "opposition", "risk"]].mean()
    early, late = means.loc[2], means.loc[40]
    assert 0.90 < early.opposition < 0.96
    assert 0.60 < early.dissent < 0.73
    assert 0.93 < early.risk < 0.97
    assert 0.84 < late.dissent < 0.94
    assert 0.55 < late.opposition < 0.68
    assert late.risk > 0.99
