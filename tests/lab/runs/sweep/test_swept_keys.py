"""Tables of a sweep have a column for each option that it varies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lab.runs.sweep.swept_keys import swept_keys


def test_only_keys_with_several_values() -> None:
    runs = [
        ["seed=0", "optimizer.lr=1", "aggregator=mean", "threads=1", "model=mlp", "name=x"],
        ["seed=1", "optimizer.lr=2", "aggregator=and_mask", "threads=1", "model=logistic", "name=x"],
    ]
    assert swept_keys(runs) == ["optimizer.lr"]
    assert swept_keys(runs[:1]) == []


def test_an_option_that_one_run_alone_has_differs() -> None:
    runs = [["aggregator=mean"], ["aggregator=and_mask", "+aggregator.agreement_threshold=0.5"]]
    assert swept_keys(runs) == ["aggregator.agreement_threshold"]


@pytest.mark.slow
def test_the_script_adds_them_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script_here: Any, tiny: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = ["aggregator=mean,and_mask", "aggregator.agreement_threshold=0.2,0.9", "optimizer.lr=1e-3,1e-2"]
    options = [text for text in tiny if not text.startswith(("trainer.max_epochs", "logger"))]
    tables = ["--to", str(tmp_path / "t"), "--columns", "optimizer.lr"]
    done = script_here("run_many", *options, "trainer.max_epochs=1", *sweep, *tables)
    assert done.returncode == 0, done.stderr
    for kind, rows in (("runs", 6), ("curves", None)):
        table = pd.read_csv(f"t_{kind}.csv")
        assert rows is None or len(table) == rows
        assert list(table.columns).count("optimizer.lr") == 1
        assert set(table.loc[table.aggregator == "and_mask", "aggregator.agreement_threshold"]) == {0.2, 0.9}
        assert table.loc[table.aggregator == "mean", "aggregator.agreement_threshold"].isna().all()
