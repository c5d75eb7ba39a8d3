"""Columns of printed tables that are computed from other columns: differences, ratios, multiples."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.figures.pages import table_files

Cells = dict[str, str]
TELLS = re.compile(r" - | / |\bratio|difference|\bminus\b|per parameter|\bx plain")
"""The words of a head that say that its column is computed from others."""
ELSEWHERE = {
    "difference": "of two test KLs, which are in no column",
    "last, minus training error": "the training error is in no column; the table is made from the CSV",
    "ratio (quartiles)": "the median of the ratios of neighbouring steps",
    "test, highest minus last": "each seed's own difference; the columns hold medians over the seeds",
    "step, x plain": "the milliseconds are in no column; the table is made from the CSV",
    "of which difference of the training risks": "the two risks are in no column",
    "inconsistency / ε": "epsilon is a constant of the table",
    "inconsistency / ε, damping 0.001": "epsilon is a constant of the table",
    "median gap / ε": "epsilon is a constant of the table",
    "`hessian_vector` / `quadratic`": "the median of the seeds' ratios",
    "`search` / `quadratic`": "the median of the seeds' ratios",
    "difference of risks, the two training environments": "the risks are in no column",
    "difference of risks, with the test environment": "the risks are in no column",
}
"""The columns that no other columns can give, and why."""


class Printed(float):
    """A number as a table prints it; ``half`` is the largest error of its rounding."""

    half: float

    def __new__(cls, cell: str, column: list[str]) -> Printed:
        """A column may leave out a number's last zeros, so the longest one has the digits of all."""
        self = super().__new__(cls, _number(cell))
        self.half = 0.505 * 10.0 ** -max(len(_number(other).partition(".")[2]) for other in column)
        return self


def _number(cell: str) -> str:
    found = re.match(r"[-+\d.,]+", cell)
    assert found is not None, cell
    return found[0].replace(",", "")


def cell_of(row: Cells, rows: list[Cells], name: str) -> Printed:
    return Printed(row[name], [other[name] for other in rows if other[name]])


def quotient(one: Printed, other: Printed) -> tuple[float, float]:
    """The smallest and the largest ratio of two numbers that were rounded."""
    return (one - one.half) / (other + other.half), (one + one.half) / max(other - other.half, 1e-9)


def ratio(one: str, other: str) -> Callable[[Cells, list[Cells]], tuple[float, float]]:
    return lambda row, rows: quotient(cell_of(row, [row], one), cell_of(row, [row], other))


def of_first_row(column: str) -> Callable[[Cells, list[Cells]], tuple[float, float]]:
    return lambda row, rows: quotient(cell_of(row, rows, column), cell_of(rows[0], rows, column))


def standard_errors(row: Cells, _: list[Cells]) -> tuple[float, float]:
    """The distance of two means, each with its deviation over the seeds of the second one."""
    means = [Printed(row[name].split(" ± ")[0], [row[name]]) for name in ("test error", "published")]
    text = row["published"].split(" ± ")[1]
    deviation = Printed(text, [text])
    apart, rounding, root = abs(means[0] - means[1]), sum(mean.half for mean in means), int(row["n"]) ** 0.5
    low, high = max(apart - rounding, 0.0), apart + rounding
    return low / (deviation + deviation.half) * root, high / max(deviation - deviation.half, 1e-9) * root


DERIVED = {
    "ratio": ratio("authors' script, s", "here, s"),
    "images per parameter": ratio("images", "parameters"),
    "votes / threshold 0": ratio("votes", "threshold 0"),
    "before / after": ratio("before, s", "after, s"),
    "x plain, 1 process": of_first_row("ms, 1 process"),
    "x plain, 2 processes": of_first_row("ms, 2 processes"),
    "difference, in standard errors": standard_errors,
}
"""The smallest and the largest value that a row's other cells allow, by the head of the column."""


def tables_in(text: str) -> list[list[Cells]]:
    """The rows of every Markdown table, each as cells by the head of their column."""
    tables = []
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.M):
        lines = [line for line in table.splitlines() if not re.fullmatch(r"[|:\- ]+", line)]
        head, *rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:-1])] for line in lines]
        tables.append([dict(zip(head, row, strict=True)) for row in rows])
    return tables


@pytest.fixture(scope="module")
def printed(pages: list[Path], root: Path) -> list[tuple[str, list[Cells]]]:
    """All tables of pages and results, with the name of their file."""
    files = [*pages, *table_files(root / "results").values()]
    return [(file.name, rows) for file in files for rows in tables_in(file.read_text()) if rows]


def test_every_computed_column_is_known(printed: list[tuple[str, list[Cells]]]) -> None:
    found = {head for _, rows in printed for head in rows[0] if TELLS.search(head)}
    subtracted = {head for head in found if " - " in head}
    assert found - subtracted == DERIVED.keys() | ELSEWHERE.keys()
    assert subtracted


def test_differences_are_those_of_the_printed_columns(printed: list[tuple[str, list[Cells]]]) -> None:
    """A column called ``A - B`` is column A minus column B, up to the rounding of three numbers."""
    checked = 0
    for name, rows in printed:
        for head in (head for head in rows[0] if " - " in head):
            one, _, other = head.partition(" - ")
            for row in rows:
                first, second, difference = (cell_of(row, rows, column) for column in (one, other, head))
                rounding = first.half + second.half + difference.half
                assert abs(first - second - difference) <= rounding, (name, row)
                checked += 1
    assert checked >= 4


@pytest.mark.parametrize("head", DERIVED)
def test_ratios_are_those_of_the_printed_columns(head: str, printed: list[tuple[str, list[Cells]]]) -> None:
    checked = 0
    for name, rows in printed:
        for row in (row for row in rows if row.get(head, "")):
            value = cell_of(row, rows, head)
            low, high = DERIVED[head](row, rows)
            assert low - value.half <= value <= high + value.half, (name, row, low, high)
            checked += 1
    assert checked
