"""The numbers that docs/irm.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import page_text, whole
from lab.experiments.irm.results import EXPLAINER_WEIGHTS, colored_runs
from lab.experiments.irm.selection import selected


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return page_text(root, "irm")


def test_fewer_images(text: str, root: Path) -> None:
    assert selected and colored_runs
    assert whole(0.5) in text


def test_the_linear_example(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "irm" / "linear_runs.csv")
    weights = [f"weight/{i}" for i in range(4)]
    plain = runs[runs.aggregator == "mean"][weights]
    spread = plain[weights[:2]].std()
    assert f"is {spread.min():.3f} to {spread.max():.3f}." in text
    for name, rows in runs.groupby("aggregator"):
        if name in EXPLAINER_WEIGHTS:
            apart = (rows[weights].mean() - pd.Series(EXPLAINER_WEIGHTS[name], weights)).abs()
            print(name, apart / rows[weights].std())
