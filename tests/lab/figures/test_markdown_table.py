"""Tables in Markdown have the digits that their code chose."""

from __future__ import annotations

import pandas as pd

from lab.figures.markdown_table import as_markdown


def test_texts_stay_as_they_are_and_numbers_stand_at_the_right() -> None:
    table = pd.DataFrame(
        {
            "method": ["one", "two"],
            "KL": ["0.1130", ""],
            "difference": ["+0.0100", "-1,000.50"],
            "n": [3, 20],
            "share": [0.5, 0.25],
            "p": ["0.00012", "1.652e-2"],
            "what": ["0.1 (n = 3)", "2"],
        }
    )
    head, sides, *rows = as_markdown(table).splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells == [
        ["one", "0.1130", "+0.0100", "3", "0.5", "0.00012", "0.1 (n = 3)"],
        ["two", "", "-1,000.50", "20", "0.25", "1.652e-2", "2"],
    ]
    at_the_right = [side.endswith(":") for side in sides.strip("|").split("|")]
    assert at_the_right == [False, True, True, True, True, True, False]
    assert [name.strip() for name in head.strip("|").split("|")] == list(table.columns)


def test_an_empty_column_and_a_table_without_rows() -> None:
    assert as_markdown(pd.DataFrame({"a": ["", ""]})).count("\n") == 4
    without_rows = as_markdown(pd.DataFrame({"a": pd.Series(dtype=object)}))
    assert without_rows.splitlines()[0].split() == ["|", "a", "|"]


def test_rows_make_the_table_of_their_columns_and_no_rows_make_an_empty_text() -> None:
    rows = [{"method": "one", "n": 3}, {"method": "two", "n": 20}]
    assert as_markdown(rows) == as_markdown(pd.DataFrame({"method": ["one", "two"], "n": [3, 20]}))
    assert as_markdown([]) == ""
