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
    costs = {"cost": "cost.md", "per_example_cost": "cost.md", "processes_cost": "scale.md"}
    others = {
        "verdicts": "README.md",
        "thumbnails": "README.md",
        "label_noise_rates": "memorisation.md",
        "memorisation_by_images": "memorisation.md",
        "memorisation_default": "memorisation.md",
        "irm_paper": "irm.md",
        "coinrun_pilot": "coinrun.md",
        "hours_neighbours": "neighbours.md",
        "linear_unit_tests": "linear_unit_tests.md",
        "linear_unit_tests_time": "linear_unit_tests.md",
        "linear_unit_tests_turned": "linear_unit_tests.md",
        "neighbours": "neighbours.md",
        "spirals_joint": "spirals.md",
        "spirals_rotated": "spirals.md",
    }
    thesis = {
        "figure4_4": "distillation.md",
        "table_c7": "distillation.md",
        "skip_intervals_cost": "skip_intervals.md",
        "skip_intervals_data": "skip_intervals.md",
        "skip_intervals_methods": "skip_intervals.md",
        "skip_intervals_searches": "skip_intervals.md",
    }
    begun = [page.stem for page in pages if "## Claim\n" in page.read_text()]
    each = {f"{kind}_{name}": f"{name}.md" for kind in ("claims", "hours") for name in begun}
    assert shown == {**others, **costs, **thesis, **each}


def without_targets(table: str) -> str:
    """A link's target and the padding depend on the page that shows the table."""
    return re.sub(r" +|-+", " ", re.sub(r"\]\([^)]*\)", "]", table))
