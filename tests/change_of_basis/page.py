"""The table in ``docs/transformers.md``: how far each method's update moves with the factors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "transformers.md"
UNMOVED = 1e-6
"""A smaller movement is rounding."""
_MARKS = re.compile(r"(<!-- made by scripts/change_of_basis\.py -->\n).*?(<!-- end -->)", re.DOTALL)


def cell(movement: float) -> str:
    """A movement as the table prints it."""
    return "does not move" if movement < UNMOVED else f"{movement:.0%}".replace("%", " %")


def written(rows: Mapping[str, Mapping[str, float]]) -> str:
    """The page with these rows: for each method the movement under each kind of R."""
    kinds = list(next(iter(rows.values())))
    lines = ["| update | " + " | ".join(kinds) + " |", "|---" * (1 + len(kinds)) + "|"]
    lines += [f"| {name} | " + " | ".join(map(cell, row.values())) + " |" for name, row in rows.items()]
    table = "\n".join(lines) + "\n"
    return _MARKS.sub(lambda match: match[1] + table + match[2], PAGE.read_text())


def printed() -> dict[str, list[str]]:
    """The cells of each row that stands on the page."""
    found = _MARKS.search(PAGE.read_text())
    assert found is not None, f"{PAGE} has no place for the table"
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in found[0].splitlines()[3:-1]]
    return {name: cells for name, *cells in lines}
