"""Our runs, and the published numbers to compare them with."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER = Path("linear_unit_tests")
UNDERFLOW = FOLDER / "underflow.csv"
"""The AND-mask on problem 3 as the authors' script computes it, for two draws of the options."""

PUBLISHED = Path(__file__).parent / "shipped" / "aubin2021_processed.csv"
"""The published numbers, from the files ``avg`` in ``data/results_processed.tar.gz`` of
facebookresearch/InvarianceUnitTests (MIT).

The table has the test error of the chosen draw to six digits (mean over 50 data seeds and the environments),
its standard deviation over seeds (mean over the environments), and the chosen learning rate. ``varied`` says
to which of the two sweeps a row belongs. Both sweeps contain the cell with three environments and 5 + 5
dimensions.
"""

PUBLISHED_SEEDS = 50
"""The data seeds of each published error."""
MOST = 2.0
"""The largest difference of a test error from the published one, in standard errors of the published mean."""
ROUNDING = 2e-6
"""Errors that differ by no more than this agree, because the published ones have six digits."""

CELL = ["problem", "n_environments", "spurious_dimensions", "method"]

LABELS = {
    "plain": "plain",
    "irm_penalty": "IRMv1",
    "iga": "IGA",
    "and_mask_published": "AND-mask, their form",
    "and_mask": "AND-mask, ours",
    "gram_agreement": "AND-mask, principal directions",
    "sign_election": "sign election",
    "oracle": "oracle",
}
"""The names of the methods, in the order of the tables."""


def runs(results: Path) -> pd.DataFrame:
    """Read ``linear_unit_tests/*_runs.csv``: one row per run, with the columns of ``CELL``."""
    files = sorted((results / FOLDER).glob("*_runs.csv"))
    table = pd.concat(
        [pd.read_csv(file, dtype={"dataset.problem": str}) for file in files], ignore_index=True
    )
    table = table.rename(columns={f"dataset.{name}": name for name in CELL})
    return table.assign(method=table.method.fillna(table.aggregator))


def published_errors() -> pd.DataFrame:
    """Read the published cells, one row each: ``CELL``, ``published``, ``published_std``, ``chosen_lr``."""
    table = pd.read_csv(PUBLISHED, dtype={"problem": str}).drop_duplicates(CELL)
    table = table.rename(columns={"test_error": "published", "test_error_std": "published_std"})
    return table[[*CELL, "published", "published_std", "chosen_lr"]]


def beside_published(results: Path) -> pd.DataFrame:
    """Return our runs with the columns ``published`` and ``published_std``.

    These two are missing for methods that were not published. The column ``apart`` is the difference to the
    published error in standard errors. A published error is a mean over data seeds, so its standard error is
    the published deviation over seeds, divided by the root of their number.
    """
    table = runs(results).merge(published_errors(), on=CELL, how="left")
    difference = table["test/error"] - table["published"]
    standard_error = table["published_std"] / PUBLISHED_SEEDS**0.5
    # If every seed has the published error, the deviation is 0 and cannot be a unit.
    table["apart"] = (difference / standard_error).where(difference.abs() > ROUNDING, 0.0)
    return table.assign(row=pd.Categorical(table.method, list(LABELS), ordered=True)).sort_values(
        ["problem", "n_environments", "spurious_dimensions", "row"]
    )
