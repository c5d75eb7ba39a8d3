"""Tables in the pages are those that ``make figures`` last made from the results."""

from __future__ import annotations

import re
from pathlib import Path

MARKS = re.compile(r"<!-- table:(\w+) -->\n(.*?)<!-- end -->", re.S)


def test_tables_are_those_of_the_results(pages: list[Path], root: Path) -> None:
    shown = {}
    for page in pages:
        for name, table in MARKS.findall(page.read_text()):
            made = (root / "results" / "tables" / f"{name}.md").read_text()
            assert without_targets(table) == without_targets(made), (page.name, name)
            shown[name] = page.name
    costs = {"cost": "costs.md", "per_example_cost": "costs.md", "processes_cost": "scale.md"}
    others = {"at_a_glance": "README.md", "label_noise_rates": "memorisation.md"}
    distillation = {"figure4_4": "distillation.md"}
    assert shown == {**others, **costs, **distillation}


def without_targets(table: str) -> str:
    """A link's target and the padding depend on the page that shows the table."""
    return re.sub(r" +|-+", " ", re.sub(r"\]\([^)]*\)", "]", table))


def test_claims_at_a_glance_are_short(root: Path) -> None:
    tables = dict(MARKS.findall((root / "README.md").read_text()))
    claims = [row.split("|")[1].strip() for row in tables["at_a_glance"].splitlines()[2:]]
    assert len(claims) > 10
    assert not [claim for claim in claims if len(claim.split()) > 8]
