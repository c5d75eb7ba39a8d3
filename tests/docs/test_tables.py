"""Tables in the pages are those that ``make figures`` last made from the results."""

from __future__ import annotations

import re
from pathlib import Path

from docs.page_text import word
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


def test_the_readme_counts_what_fails_at_the_authors_setting(root: Path) -> None:
    claims = (root / "docs" / "claims.md").read_text()
    listed = claims.partition("at the authors' setting. They count")[2].partition("\n## ")[0]
    number = word(listed.count("\n- [")).capitalize()
    readme = " ".join((root / "README.md").read_text().split())
    assert f'{number} claims on the spirals that count as "in part" are not reproduced' in readme


def without_targets(table: str) -> str:
    """A link's target and the padding depend on the page that shows the table."""
    return re.sub(r" +|-+", " ", re.sub(r"\]\([^)]*\)", "]", table))
