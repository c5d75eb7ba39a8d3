"""The claims that our trainings have the same results as the published ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.linear_unit_tests.results import LABELS, beside_published, published_errors
from lab.figures.claims import Claim

MOST = 2.0
"""The largest difference of a test error from the published one, in published standard deviations."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on the usual cell and the sweeps around it, from ``linear_unit_tests/*_runs.csv``."""
    table = beside_published(results)
    table, published = table[table.published.notna()], published_errors()
    return [
        _agreement(
            table[_usual(table)],
            int(_usual(published).sum()),
            "Linear unit tests agree with the published table",
            "with three environments and 5 + 5 dimensions",
        ),
        _agreement(
            table[~_usual(table)],
            int((~_usual(published)).sum()),
            "Linear unit tests agree with the published curves",
            "with 2 to 10 environments and 5 + 5 dimensions, and with 3 environments and 0 to 10 spurious "
            "dimensions",
        ),
    ]


def _usual(table: pd.DataFrame) -> pd.Series:
    usual: pd.Series = (table.n_environments == 3) & (table.spurious_dimensions == 5)
    return usual


def _agreement(table: pd.DataFrame, published: int, short: str, cells: str) -> Claim:
    worst = table.sort_values("apart", key=lambda apart: apart.abs()).iloc[-1]
    same = (table["chosen/lr"] / table.chosen_lr - 1).abs() < 1e-4
    within = table.apart.abs() <= MOST
    where = (
        f"problem {worst.problem}, {LABELS[worst.method]!r}, {worst.n_environments} environments, spurious "
        f"dimensions: {worst.spurious_dimensions}"
    )
    return Claim(
        short=short,
        claim="On the six problems of the linear unit tests, our test errors of plain training, IRMv1, IGA, "
        f"AND-mask and oracle agree with the published ones, {cells}.",
        paper=f"There are {published} errors. Each is the mean test error of 50 data seeds, for the best of "
        "20 draws of the options by validation error (results_processed.tar.gz of the authors).",
        ours=f"{int(within.sum())} of {len(table)} errors lie within {MOST:g} published standard deviations "
        f"of the published error. The largest difference is {abs(worst.apart):.4f} standard deviations "
        f"({where}). The same draw as in the source is chosen in {int(same.sum())} cases. There are n = "
        f"{int(table.n_seeds.min())} data seeds. Draws are selected on validation data.",
        number=f"at most {abs(worst.apart):.4f} standard deviations apart",
        verdict="reproduced"
        if within.all() and len(table) == published
        else f"in part: {int(within.sum())} of {published} errors",
    )
