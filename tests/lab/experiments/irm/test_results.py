"""How the stability study sorts the ends of its runs."""

from __future__ import annotations

import pandas as pd
import pytest

from lab.experiments.irm.results import outcome, passes

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
    ],
)
def test_outcome(train: float, test: float, warning: object, expected: str) -> None:
    run = pd.Series({"train/accuracy": train, "test/accuracy": test, "warning": warning})
    is_above = passes(pd.DataFrame([run])).item()
    assert is_above == (expected == "success")
    assert outcome(pd.Series({**run, "passed": is_above})) == expected
    # Stopped where the source stops, whatever came later.
    assert outcome(pd.Series({**run, "passed": True})) == "success"
