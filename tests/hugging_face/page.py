"""The table in ``docs/transformers.md``: what each way makes of each model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ilc.gradients import WAYS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "transformers.md"
_MARKS = re.compile(r"(<!-- made by scripts/transformers_table\.py -->\n).*?(<!-- end -->)", re.DOTALL)


def written(rows: Mapping[str, Mapping[str, str]]) -> str:
    """The page with these rows: for each model the cell of each way."""
    lines = ["| model | " + " | ".join(f"`{way}`" for way in WAYS) + " |", "|---" * (1 + len(WAYS)) + "|"]
    lines += [f"| {kind} | " + " | ".join(cells[way] for way in WAYS) + " |" for kind, cells in rows.items()]
    table = "\n".join(lines) + "\n"
    return _MARKS.sub(lambda match: match[1] + table + match[2], PAGE.read_text())


def printed() -> dict[str, dict[str, str]]:
    """The rows that stand on the page."""
    found = _MARKS.search(PAGE.read_text())
    assert found is not None, f"{PAGE} has no place for the table"
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[0].splitlines()[3:-1]]
    return {kind: dict(zip(WAYS, cells, strict=True)) for kind, *cells in lines}
