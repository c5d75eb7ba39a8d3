"""Tables in the pages are those that ``make figures`` last made from the results."""

from __future__ import annotations

import re
from pathlib import Path

from lab.figures.pages import table_files

MARKS = re.compile(r"<!-- table:(\w+) -->\n(.*?)<!-- end -->", re.S)


def test_tables_are_those_of_the_results(pages: list[Path], root: Path) -> None:
    shown = {}
    tables = table_files(root / "results")
    for page in pages:
        for name, table in MARKS.findall(page.read_text()):
            made = tables[name].read_text()
            assert without_targets(table) == without_targets(made), (page.name, name)
            shown[name] = page.name
    begun = {page.stem for page in pages if "## Claim\n" in page.read_text()}
    assert {
        f"{kind}_{name}": f"{name}.md" for kind in ("claims", "hours") for name in begun
    }.items() <= shown.items()
    assert shown["verdicts"] == shown["thumbnails"] == "README.md"
    words = "\n".join(page.read_text() for page in pages)
    for name in set(tables) - set(shown):
        experiment = tables[name].parents[1].name
        assert f"/{name}." in words or experiment not in begun, (
            f"no page shows the table {name} or links to it"
        )


def test_printed_differences_are_those_of_the_printed_columns(pages: list[Path], root: Path) -> None:
    """A column called ``A - B`` is column A minus column B, up to the rounding of three numbers."""
    checked = 0
    for page in [*pages, *table_files(root / "results").values()]:
        for head, *rows in tables_in(page.read_text()):
            for name in head:
                one, minus, other = name.partition(" - ")
                if not (minus and {one, other} <= set(head)):
                    continue
                for row in rows:
                    cells = dict(zip(head, row, strict=True))
                    unit = 10.0 ** -len(cells[name].partition(".")[2])
                    found = float(cells[one]) - float(cells[other])
                    assert abs(found - float(cells[name])) < 1.51 * unit, (page.name, cells)
                    checked += 1
    assert checked >= 4


def tables_in(text: str) -> list[list[list[str]]]:
    """The cells of every Markdown table, without the line below its head."""
    found = re.findall(r"(?:^\|.*\|$\n?)+", text, re.M)
    lines = [[line for line in table.splitlines() if not re.fullmatch(r"[|:\- ]+", line)] for table in found]
    return [[[cell.strip() for cell in line[1:-1].split(" | ")] for line in table] for table in lines]


def without_targets(table: str) -> str:
    """A link's target and the padding depend on the page that shows the table."""
    return re.sub(r" +|-+", " ", re.sub(r"\]\([^)]*\)", "]", table))
