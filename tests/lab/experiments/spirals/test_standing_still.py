"""A sentence of docs/spirals.md: which committed runs that found the mechanism had stood still before."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pandas as pd

from docs.page_text import word
from lab.experiments.spirals.methods import PERFECT
from lab.runs.one_run.trainer_options import STILL

EPOCHS = 9
"""The rule of the searches ends a trial whose training risk stands still for so many epochs."""


def _stood_still(run: pd.DataFrame) -> bool:
    """Whether the risk moved by less than the rule asks before the run was perfect for the first time."""
    run = run.sort_values("epoch")
    first = run[run["test/accuracy"] >= PERFECT].epoch.min()
    risk = run[run.epoch <= first].set_index("epoch")["epoch/risk"]
    spans = (risk.loc[a:b] for a, b in combinations(risk.index, 2) if b - a >= EPOCHS)
    return any(span.max() - span.min() <= STILL * span.max() for span in spans)


def test_no_run_that_reached_99_had_stood_still(root: Path, text: str) -> None:
    found, still = 0, []
    for path in (root / "results" / "spirals").rglob("*_curves.csv"):
        for _, run in pd.read_csv(path).groupby("run"):
            if run["test/accuracy"].max() >= PERFECT:
                found += 1
                still += [path.name] * _stood_still(run)
    assert found > 200
    assert "(No committed run with PyTorch's first weights that reached 99 % had stood still" in text
    assert set(still) == {"authors_code_curves.csv"}
    number = word(len(still)).capitalize()
    assert f"{number} runs of the authors' printed command had, at their start.)" in text
