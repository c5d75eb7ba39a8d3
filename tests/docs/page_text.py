"""The prose of a page as one line, for tests that recompute the numbers which it prints."""

from __future__ import annotations

import re
from pathlib import Path

TABLE = re.compile(r"<!-- table:\w+ -->.*?<!-- end -->", re.S)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")


def page_text(root: Path, name: str) -> str:
    """The words of ``docs/NAME.md``, one space apart, without made tables, code blocks and marks."""
    text = (root / "docs" / f"{name}.md").read_text()
    text = LINK.sub(r"\1", FENCE.sub("", TABLE.sub("", text)))
    return " ".join(text.replace("**", "").replace("`", "").split())


def point(value: float, digits: int) -> str:
    """A number without the zero before its point, such as .044."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def whole(value: float) -> str:
    """A share in whole per cent, such as 64."""
    return f"{100 * value:.0f}"


def tenths(value: float) -> str:
    """A share in per cent with one digit, such as 63.9."""
    return f"{100 * value:.1f}"


WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
TEENS = ("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")


def word(number: int) -> str:
    """A number below twenty as a word, and a larger one in digits."""
    return [*WORDS, *TEENS][number] if number < 20 else str(number)


def table_cells(markdown: str) -> list[list[str]]:
    """The cells of the Markdown tables in a text, row by row, without the lines below their heads."""
    rows = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not row[0].lstrip(":").startswith("--")]
