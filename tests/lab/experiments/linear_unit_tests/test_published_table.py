"""The claims about the published errors: all of them, or no more than those that were run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.linear_unit_tests.claims.published_table import claims
from lab.experiments.linear_unit_tests.results import CELL, UNDERFLOW, published_errors


def _write(results: Path, errors: pd.DataFrame) -> Path:
    """Runs whose errors are ``published`` of the rows."""
    runs = errors.drop(columns="published_std").rename(
        columns={"published": "test/error", "chosen_lr": "chosen/lr"}
    )
    runs = runs.rename(columns={name: f"dataset.{name}" for name in CELL if name != "method"})
    (results / "linear_unit_tests").mkdir(parents=True)
    runs.assign(n_seeds=50, aggregator="mean").to_csv(results / "linear_unit_tests" / "all_runs.csv")
    rows = [
        {"seed": seed, "chosen_by": who, "as_they_do": seed < 2, "test_error": 0.1 * seed}
        | {"first_zero_step": 7 if who == "ours" and seed == 0 else None}
        for seed in range(4)
        for who in ("ours", "theirs")
    ]
    pd.DataFrame(rows).to_csv(results / UNDERFLOW)
    return results


def test_all_published_errors_are_reproduced(tmp_path: Path) -> None:
    found = claims(_write(tmp_path, published_errors()))
    assert [claim.verdict for claim in found] == ["reproduced", "reproduced"]
    assert "30 of 30" in found[0].ours and "540 of 540" in found[1].ours
    assert "has the length zero in 1 of 2" in found[0].ours
    assert "this happens in 0 of 2, and our error with that draw is 0.150 over 4 data seeds" in found[0].ours


@pytest.mark.parametrize("ten", [0, 1], ids=["the usual cell", "a cell with ten environments"])
def test_one_that_is_missing_or_apart_is_not(tmp_path: Path, ten: int) -> None:
    errors = published_errors()
    usual = (errors.n_environments == 3) & (errors.spurious_dimensions == 5)
    spread = errors.published_std > 0.01
    row = errors[spread & ((errors.n_environments == 10) if ten else usual)].index[0]
    without = claims(_write(tmp_path / "without", errors.drop(index=row)))
    # Three standard errors of a mean of 50 data seeds, which is less than half a deviation of one seed.
    errors.loc[row, "published"] += 3 * errors.loc[row, "published_std"] / 50**0.5
    apart = claims(_write(tmp_path / "apart", errors))
    less, all_of_them = (29, 539)[ten], (30, 540)[ten]
    assert without[ten].verdict == f"in part: {less} of {less} that were run, of {all_of_them}"
    assert apart[ten].verdict == f"in part: {less} of {all_of_them}"
    assert "3.0 standard errors apart" in apart[ten].number
    for found in (without, apart):
        assert found[1 - ten].verdict == "reproduced"
