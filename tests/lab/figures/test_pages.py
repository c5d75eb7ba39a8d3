"""Tables between their marks, with links that hold from the page they stand in."""

from __future__ import annotations

from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.figures.pages import pages, relinked, with_tables

TABLE = "| a |\n|:--|\n| [b](../../../docs/c.md#d) [e](https://e.org/f.md) [g](#g) |\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "results" / "spirals" / "tables"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(TABLE)
    return folder


@pytest.mark.parametrize(("place", "link"), [("README.md", "docs/c.md#d"), ("docs/page.md", "c.md#d")])
def test_a_table_is_put_between_its_marks(place: str, link: str, tables: Path, tmp_path: Path) -> None:
    page = tmp_path / place
    page.parent.mkdir(exist_ok=True)
    marks = "<!-- table:one -->\n{}<!-- end -->\n"
    page.write_text("before\n" + marks.format("old\n") + "after\n" + marks.format(""))
    text = with_tables(page, tables.parents[1])
    assert text.count(f"[b]({link}) [e](https://e.org/f.md) [g](#g) |\n<!-- end -->") == 2
    assert "old" not in text
    assert text.startswith("before\n<!-- table:one -->\n| a |\n")
    page.write_text(text)
    assert with_tables(page, tables.parents[1]) == text
    assert page in pages(tmp_path)


def test_a_mark_that_names_no_table_is_an_error(tables: Path, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- table:two -->\n<!-- end -->\n")
    with pytest.raises(UserError, match=r"needs the table 'two', .*name one of one"):
        with_tables(page, tables.parents[1])


def test_links_are_turned_there_and_back(tmp_path: Path) -> None:
    there, back = tmp_path / "results" / "spirals" / "tables", tmp_path / "docs"
    assert relinked(relinked(TABLE, there, back), back, there) == TABLE


def test_every_page_shows_its_tables_as_they_are(root: Path) -> None:
    for page in pages(root):
        assert with_tables(page, root / "results") == page.read_text(), page
