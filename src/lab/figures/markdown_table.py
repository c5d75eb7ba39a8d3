"""Tables as Markdown, with the digits that their code chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd


def as_markdown(table: pd.DataFrame | Sequence[Mapping[str, object]]) -> str:
    """Return a table in Markdown, whose texts stay as they are.

    The table may be its rows, each with a value per column. A table without columns is an empty text.
    Left to itself, ``to_markdown`` reads "0.1130" as a number and prints 0.113. Columns of numbers, also of
    numbers that are texts, stand at the right.
    """
    table = pd.DataFrame(table)
    if table.columns.empty:
        return ""
    columns = [table.iloc[:, i] for i in range(table.shape[1])]
    texts = [i for i, column in enumerate(columns) if any(isinstance(value, str) for value in column)]
    sides = ["right" if _is_numeric(column) else "left" for column in columns]
    markdown: str = table.to_markdown(index=False, disable_numparse=texts, colalign=sides)
    return markdown + "\n"


def _is_numeric(column: pd.Series) -> bool:
    """Whether each cell of a column is a number, a number's text (with commas or a sign) or empty."""
    cells = [str(value).replace(",", "") for value in column if str(value)]
    return bool(cells) and bool(pd.to_numeric(pd.Series(cells), errors="coerce").notna().all())
