"""The rows of runs that a study's committed CSV already holds, so that nobody makes those runs again.

All values are kept as the text that the file has: what is committed is never rounded or rewritten.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ilc.errors import UserError
from ilc.runs.run_key import RUN

STOPPED = "stopped"
PENDING, FAILED = "pending", "failed"
"""Values of ``stopped``: a run that nobody has made yet, and one that ended with an error."""


def read_rows(path: Path, key: str) -> pd.DataFrame | None:
    """A table as text; None where the file is not there, or lacks the column that says what a row is of.

    Raises:
        UserError: the file is no table.
    """
    if not path.exists():
        return None
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, OSError) as error:
        raise UserError(
            f"{path} cannot be read ({' '.join(str(error).split())}): put back the committed file, or remove "
            "it"
        ) from error
    return table if key in table else None


def read_run_rows(path: Path) -> pd.DataFrame:
    """A table of runs as text; an empty one where the file is not there.

    Raises:
        UserError: the file is no table of runs.
    """
    if not path.exists():
        return pd.DataFrame({RUN: pd.Series(dtype=str)})
    table = read_rows(path, RUN)
    if table is None:
        raise UserError(
            f"{path} lacks the column {RUN!r} of a table of runs: put back the committed file, or remove it"
        )
    return table


def settled(table: pd.DataFrame, may_diverge: bool) -> set[str]:
    """The runs in a table that nobody has to make: finished ones, and failed ones where runs may diverge."""
    if table.empty:
        return set()
    open_ones = [PENDING] if may_diverge else [PENDING, FAILED]
    return set(table[RUN][~table[STOPPED].isin(open_ones)])


def merged(tables: Sequence[pd.DataFrame], order: Sequence[str]) -> pd.DataFrame:
    """One table of the rows of several, all of them text, sorted by these columns, numbers as numbers."""
    table = pd.concat([as_text(own) for own in tables if len(own)], ignore_index=True).fillna("")
    columns = [column for column in order if column in table]
    return table.sort_values(columns, key=_numbers_first, kind="stable", ignore_index=True)


def as_text(table: pd.DataFrame, float_format: str | None = None) -> pd.DataFrame:
    """A table as its CSV file would hold it."""
    text = table.to_csv(index=False, float_format=float_format)
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def _numbers_first(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers
