"""What adaptive skips have more than another method, in pairs where each seed draws its own trajectories."""

from __future__ import annotations

import pandas as pd

from lab.figures.two_groups import Difference, paired, welch

GENERATION = "dataset.generation_seed"
"""The column of the seed of the trajectories, in tables whose runs draw trajectories of their own."""


def has_one_draw(table: pd.DataFrame) -> bool:
    """Return whether all runs share one draw of trajectories."""
    return GENERATION not in table or len(set(table[GENERATION])) == 1


def compared(table: pd.DataFrame, others: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of adaptive skips and those of another method that are compared with each other.

    With one draw of trajectories these are all runs. Where each seed draws its own, they are the seeds of
    both, in the same order.

    Args:
        table: all runs of a domain.
        others: the runs of the other method.
    """
    adaptive = table[table.method == "adaptive"]
    if has_one_draw(table):
        return adaptive, others
    seeds = sorted(set(adaptive.seed) & set(others.seed))
    return adaptive.set_index("seed").loc[seeds], others.set_index("seed").loc[seeds]


def difference(table: pd.DataFrame, others: pd.DataFrame, column: str) -> Difference:
    """Return the mean of adaptive skips minus that of another method.

    Groups of seeds are compared by Welch's test, and pairs of seeds by the paired t test. The difference is
    open if fewer than two seeds are compared, or if the table lacks the column.

    Args:
        table: all runs of a domain.
        others: the runs of the other method.
        column: the quantity that is compared.
    """
    adaptive, others = compared(table, others)
    if column not in table or min(len(adaptive), len(others)) < 2:
        return Difference(0.0, 1.0)
    if has_one_draw(table):
        return welch(adaptive[column], others[column])
    return paired(adaptive[column] - others[column])
