"""An experiment's page begins with claim, command, figure, what was found, settings and hours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.figures.discovery import experiments, modules

HEADINGS = ["Claim", "Command", "Figure", "What was found", "Settings", "Hours"]
ELSEWHERE = {"cost"}
"""cost.md has what a step costs. Experiments without claims need no page."""


def sections(page: Path) -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", page.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


WITH_PAGE = [name for name in experiments() if modules(name, "claims") and name not in ELSEWHERE]


@pytest.fixture(scope="module", params=WITH_PAGE)
def page(request: pytest.FixtureRequest, root: Path) -> Path:
    return root / "docs" / f"{request.param}.md"


def test_the_six_headings_come_first(page: Path) -> None:
    assert list(sections(page))[:6] == HEADINGS


def test_each_heading_holds_what_it_says(page: Path) -> None:
    """Links, tables and commands are compared with what they name by the other tests of pages."""
    found = sections(page)
    assert "[claims.md](claims.md)" in found["Claim"]
    assert re.search(r"^python (src|scripts)/\w+\.py", found["Command"], re.M)
    assert re.search(r"!\[[^]]+\]\(\.\./results/\w+/figures/\w+\.png\)", found["Figure"])
    assert f"<!-- table:claims_{page.stem} -->\n|" in found["What was found"]
    assert found["Settings"].strip()
    assert f"<!-- table:hours_{page.stem} -->\n|" in found["Hours"]


def test_the_index_names_every_page_once(pages: list[Path], root: Path) -> None:
    index = (root / "docs" / "README.md").read_text()
    named = re.findall(r"^\| \[([\w.]+)\]\(\1\) \| .+ \|$", index, re.M)
    there = {path.name for path in pages if path.parent == root / "docs"} - {"README.md"}
    assert sorted(named) == sorted(there)
    assert "(docs/README.md)" in (root / "README.md").read_text()
