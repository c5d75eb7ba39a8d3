"""The claims that our trainings have the same results as the published ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.linear_unit_tests.results import beside_published, published_errors
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
            "three environments, 5 + 5 dimensions",
        ),
        _agreement(
            table[~_usual(table)],
            int((~_usual(published)).sum()),
            "Linear unit tests agree with the published curves",
            "2 to 10 environments with 5 + 5 dimensions, 0 to 10 spurious dimensions with 3 environments",
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
        f"problem {worst.problem}, {worst.method}, {worst.n_environments} environments, "
        f"{worst.spurious_dimensions} spurious dimensions"
    )
    return Claim(
        short=short,
        claim=f"linear unit tests: plain, IRMv1, IGA, AND-mask and oracle, {cells}, six problems",
        paper="mean test errors of 50 data seeds, the best of 20 draws of the options by validation "
        f"error (results_processed.tar.gz of the authors); {published} errors",
        ours=f"{int(within.sum())} of {len(table)} errors within {MOST:g} published standard deviations, "
        f"the furthest {abs(worst.apart):.4f} ({where}); the same "
        f"draw chosen in {int(same.sum())}; n = {int(table.n_seeds.min())} data seeds, selection on "
        "validation data",
        number=f"at most {abs(worst.apart):.4f} deviations apart",
        verdict="reproduced"
        if within.all() and len(table) == published
        else f"in part: {int(within.sum())} of {published} errors",
    )
