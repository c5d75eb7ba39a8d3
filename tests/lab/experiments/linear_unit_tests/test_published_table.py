"""The claims about the published errors: all of them, or no more than those that were run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.linear_unit_tests.claims.published_table import claims
from lab.experiments.linear_unit_tests.results import CELL, published_errors


def _write(results: Path, errors: pd.DataFrame) -> Path:
    """Runs whose errors are ``published`` of the rows."""
    runs = errors.drop(columns="published_std").rename(
        columns={"published": "test/error", "chosen_lr": "chosen/lr"}
    )
    runs = runs.rename(columns={name: f"dataset.{name}" for name in CELL if name != "method"})
    (results / "linear_unit_tests").mkdir(parents=True)
    runs.assign(n_seeds=50, aggregator="mean").to_csv(results / "linear_unit_tests" / "all_runs.csv")
    return results


def test_all_published_errors_are_reproduced(tmp_path: Path) -> None:
    found = claims(_write(tmp_path, published_errors()))
    assert [claim.verdict for claim in found] == ["reproduced", "reproduced"]
    assert "30 of 30" in found[0].ours and "540 of 540" in found[1].ours


@pytest.mark.parametrize("ten", [0, 1], ids=["the usual cell", "a cell with ten environments"])
def test_one_that_is_missing_or_apart_is_not(tmp_path: Path, ten: int) -> None:
    errors = published_errors()
    usual = (errors.n_environments == 3) & (errors.spurious_dimensions == 5)
    row = errors[(errors.n_environments == 10) if ten else usual].index[0]
    without = claims(_write(tmp_path / "without", errors.drop(index=row)))
    errors.loc[row, "published"] += 3 * errors.loc[row, "published_std"]
    apart = claims(_write(tmp_path / "apart", errors))
    for found in (without, apart):
        assert found[ten].verdict == f"in part: {(29, 539)[ten]} of {(30, 540)[ten]} errors"
        assert found[1 - ten].verdict == "reproduced"
