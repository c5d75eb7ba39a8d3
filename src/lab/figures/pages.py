"""Tables in the README and in ``docs/``: what stands between ``<!-- table:NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

from ilc.errors import UserError

WIDTH = 100
"""Characters in a line of prose, at most."""

MARKS = re.compile(r"(<!-- table:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)]+)\)")


def wrapped(text: str, indent: str = "") -> str:
    """Prose in lines of at most ``WIDTH`` characters; all but the first begin with ``indent``."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def pages(root: Path) -> list[Path]:
    """The pages that may show tables: the README and everything below ``docs/``."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def table_files(results: Path) -> dict[str, Path]:
    """All committed tables by name: each lies in ``results/EXPERIMENT/tables/`` or ``results/tables/``."""
    return {path.stem: path for path in sorted(results.glob("**/tables/*.md"))}


def with_tables(page: Path, results: Path) -> str:
    """The page's text with the tables that it shows as they are now.

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
                f"{page} wants a table {match[2]!r}, which is not below {results}: there are {known}"
            )
        return match[1] + relinked(table.read_text(), table.parent, page.parent) + match[3]

    return MARKS.sub(fill, page.read_text())


def relinked(text: str, before: Path, after: Path) -> str:
    """Markdown from a page in one folder with its relative links as a page in another one needs them."""

    def turn(match: re.Match[str]) -> str:
        return f"]({Path(os.path.relpath(before / match[1], after)).as_posix()})"

    return LINK.sub(turn, text)
