"""Tables in the README and in ``docs/``, which stand between ``<!-- table:NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

from ilc.errors import UserError

WIDTH = 100
"""The largest number of characters in a line of prose."""

MARKS = re.compile(r"(<!-- table:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)]+)\)")


def wrapped(text: str, indent: str = "") -> str:
    """Return prose in lines of at most ``WIDTH`` characters; ``indent`` begins every line after the first."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def pages(root: Path) -> list[Path]:
    """Return the pages that may show tables: the README and everything below ``docs/``."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def table_files(results: Path) -> dict[str, Path]:
    """Return all committed tables by name, from ``results/EXPERIMENT/tables/`` and ``results/tables/``."""
    return {path.stem: path for path in sorted(results.glob("**/tables/*.md"))}


def with_tables(page: Path, results: Path) -> str:
    """Return the page's text with the current content of the tables that it shows.

    Args:
        page: a Markdown file.
        results: the folder of the committed results.

    Raises:
        UserError: a mark names no table.
    """
    tables = table_files(results)

    def fill(match: re.Match[str]) -> str:
        table = tables.get(match[2])
        if table is None:
            known = ", ".join(sorted(tables))
            raise UserError(
                f"{page} needs the table {match[2]!r}, which is not below {results}: make it, or name one of "
                f"{known}"
            )
        return match[1] + relinked(table.read_text(), table.parent, page.parent) + match[3]

    return MARKS.sub(fill, page.read_text())


def relinked(text: str, before: Path, after: Path) -> str:
    """Return Markdown with its relative links changed, so that they work on a page in another folder."""

    def turn(match: re.Match[str]) -> str:
        return f"]({Path(os.path.relpath(before / match[1], after)).as_posix()})"

    return LINK.sub(turn, text)
