"""The rows that the committed CSV files of a study hold already. Their runs are not made again.

All values keep the text that they have in the file. A committed value is never rounded or rewritten. Rows of
a file that ``SHA256SUMS`` lists are taken only if the file is the one that is listed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from ilc.errors import UserError
from lab.files.checksums import read_listed
from lab.files.stopped_column import DIVERGED, PENDING, STOPPED
from lab.runs.tables.export import as_files, row_order
from lab.runs.tables.run_key import KEY, RUN


def read_rows(path: Path, results: Path) -> pd.DataFrame | None:
    """Read a table below the folder ``results`` as text; None if there is no file.

    Raises:
        UserError: the file is not a table, was cut short, or is not what ``SHA256SUMS`` lists.
    """
    content = read_listed(results, path)
    if content is None:
        return None
    try:
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise _damaged(path, " ".join(str(error).split())) from error
    if not content.endswith(b"\n"):
        raise _damaged(path, "its last line is cut short")
    return table


def read_run_rows(path: Path, results: Path, *needed: str) -> pd.DataFrame:
    """Read a table of runs as text; the table is empty if there is no file.

    Args:
        path: the file.
        results: the folder of the results, in which the file lies.
        needed: columns that the table must have, beside ``RUN``.

    Raises:
        UserError: as in ``read_rows``, or it is not such a table, or a row does not name its run.
    """
    table = read_rows(path, results)
    if table is None:
        return pd.DataFrame({column: pd.Series(dtype=str) for column in (RUN, *needed)})
    missing = [column for column in (RUN, *needed) if column not in table]
    if missing:
        raise _damaged(path, f"it is not a table of runs, because it lacks the column {', '.join(missing)}")
    strange = [row for row, key in enumerate(table[RUN]) if not re.fullmatch(KEY, str(key))]
    if strange:
        raise _damaged(path, f"row {strange[0] + 1} names no run")
    return table


def settled(path: Path, results: Path, may_diverge: bool) -> pd.DataFrame:
    """The rows of runs that need not be made: finished runs, and failed ones if runs may diverge.

    Raises:
        UserError: as in ``read_run_rows``, or two rows belong to the same run.
    """
    table = read_run_rows(path, results, "experiment", "seed", STOPPED, "command")
    twice = table[RUN][table[RUN].duplicated()]
    if len(twice):
        raise _damaged(path, f"it has two rows of the run {twice.iloc[0]}")
    return table[~table[STOPPED].isin([PENDING] if may_diverge else [PENDING, DIVERGED])]


def joined_files(
    own: tuple[pd.DataFrame, pd.DataFrame],
    prefix: Path,
    results: Path,
    kept: Collection[str],
    named: Collection[str],
    columns: Sequence[str],
    curves: bool = True,
    float_format: str | None = None,
    pending: pd.DataFrame | None = None,
) -> dict[Path, bytes]:
    """The tables of runs and curves, from the runs that were made here and the rows that the files hold.

    A line says how many rows are left out because the study no longer names their runs.

    Args:
        own: both tables of the runs that were made here, as ``export_runs`` returns them.
        prefix: the beginning of the paths of the files.
        results: the folder of the results, in which the files lie.
        kept: the keys of the other runs, whose rows are taken from the files.
        named: the keys of all runs that the study names.
        columns: config keys that are columns of the tables.
        curves: whether there is a table of curves.
        float_format: the format of the numbers that were made here.
        pending: rows of runs that are not made yet.

    Raises:
        UserError: a file is damaged.
    """
    order = row_order(columns)
    tables = []
    for kind, table in zip(("runs", "curves"), own, strict=True):
        path = prefix.with_name(f"{prefix.name}_{kind}.csv")
        there = read_run_rows(path, results)
        if curves or kind == "runs":
            say_what_goes(path, _rows_that_go(there, {*kept, *named}), "runs")
        tables.append([as_text(table, float_format), there[there[RUN].isin(list(kept))]])
    if pending is not None:
        tables[0].append(as_text(pending))
    runs_table, curves_table = _merged(tables[0], order), _merged(tables[1], [*order, "step"])
    # A table without rows still has its header.
    if runs_table.empty:
        runs_table = pd.DataFrame(columns=["experiment", *columns, "seed", RUN, STOPPED, "command"])
    if curves_table.empty:
        identity = [column for column in (*order, RUN) if column in runs_table]
        curves_table = pd.DataFrame(columns=[*identity, "step"])
    return as_files(runs_table, curves_table if curves else None, prefix)


def say_what_goes(path: Path, n_rows: int, of: str) -> None:
    """Print how many rows of a file are left out because the study no longer names their runs or parts."""
    if n_rows:
        rows = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
        print(f"{path}: {rows} removed, of {of} that the study no longer names")


def _rows_that_go(table: pd.DataFrame, named: Collection[str]) -> int:
    """The number of rows of runs that are not named; a pending row is no loss."""
    strange = ~table[RUN].isin(list(named))
    return int((strange & (table[STOPPED] != PENDING) if STOPPED in table else strange).sum())


def as_text(table: pd.DataFrame, float_format: str | None = None) -> pd.DataFrame:
    """The table as text, as its CSV file holds it."""
    if table.empty:
        return table.astype(str)
    text = table.to_csv(index=False, float_format=float_format)
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def _merged(tables: Sequence[pd.DataFrame], order: Sequence[str]) -> pd.DataFrame:
    """One table with the rows of several tables of text, sorted by the values of the text."""
    some = [table for table in tables if len(table)]
    if not some:
        return pd.DataFrame()
    table = pd.concat(some, ignore_index=True).fillna("")
    columns = [column for column in order if column in table]
    return table.sort_values(columns, key=_values, kind="stable", ignore_index=True)


def _values(column: pd.Series) -> pd.Series:
    """The values of a column of text: numbers if all texts are numbers. Empty texts come last."""
    texts = column.mask(column == "")
    numbers = pd.to_numeric(texts, errors="coerce")
    return texts if (numbers.isna() & texts.notna()).any() else numbers


def _damaged(path: Path, what: str) -> UserError:
    return UserError(f"{path} cannot be used ({what}): put back the committed file, or remove it")
