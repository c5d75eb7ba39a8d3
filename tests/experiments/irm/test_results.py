"""How the stability study sorts the ends of its runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.irm.figures.irm_stability import tabulate
from ilc.experiments.irm.results import outcome, stability_runs

COLLAPSED = "the outputs have collapsed to a constant: ..."


@pytest.mark.parametrize(
    ("train", "test", "warning", "expected"),
    [
        (0.71, 0.61, float("nan"), "success"),
        (0.71, 0.59, float("nan"), "between"),
        (0.69, 0.61, float("nan"), "between"),
        (0.85, 0.10, "the IRM penalty is too weak: ...", "plain"),
        (0.85, 0.35, float("nan"), "between"),
        (0.50, 0.50, COLLAPSED, "collapsed"),
        (0.71, 0.61, COLLAPSED, "collapsed"),
    ],
)
def test_outcome(train: float, test: float, warning: object, expected: str) -> None:
    run = pd.Series({"train/accuracy": train, "test/accuracy": test, "warning": warning})
    assert outcome(run) == expected


def test_shares_add_up_and_every_seed_is_there(root: Path) -> None:
    runs = stability_runs(root / "results")
    assert (runs.groupby("schedule").seed.nunique() == runs.groupby("schedule").size()).all()
    complete = runs[runs.schedule.isin(["constant", "step", "ramp 1.6"])]
    assert (complete.groupby("schedule").size() >= 20).all()
    table = tabulate(root / "results")
    shares = table.iloc[:-1, 2:6].map(lambda share: float(str(share).rstrip(" %")))
    assert ((shares.sum(axis=1) - 100).abs() <= 2).all()
