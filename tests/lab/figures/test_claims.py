"""The claims together: short enough to see at a glance, told apart, and on their page as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.figures.claims import KINDS, PAGE, Claim, anchor, collect, kind_of, page, verdicts
from lab.figures.discovery import ORDER

Collected = dict[str, list[Claim]]


@pytest.fixture(scope="module")
def collected(root: Path) -> Collected:
    return collect(root / "results")


def test_experiments_stand_in_the_papers_order(collected: Collected) -> None:
    starts = ("Spirals", "Memorisation", "CoinRun", "Invariant", "Theory")
    assert len(ORDER) == len(starts)
    assert all(title.startswith(start) for title, start in zip(collected, starts, strict=False))


def test_every_claim_is_short_and_has_a_number(collected: Collected) -> None:
    claims = [claim for group in collected.values() for claim in group]
    assert len(claims) >= 21
    for claim in claims:
        assert len(claim.short.split()) <= 8, claim.short
        assert re.search(r"\d|never", claim.number), claim.number
        assert all(claim), claim.short
    anchors = [anchor(claim.short) for claim in claims]
    assert len(set(anchors)) == len(anchors)


def test_the_committed_page_is_current(collected: Collected, root: Path) -> None:
    assert (root / PAGE).read_text() == page(collected)


def test_every_row_links_to_a_heading(collected: Collected) -> None:
    text = page(collected)
    headings = re.findall(r"^### (.*)$", text, re.M)
    assert re.findall(r"^\| \[[^]]*\]\(#([^)]*)\)", text, re.M) == [anchor(heading) for heading in headings]


def test_every_claim_is_counted_once(collected: Collected) -> None:
    table = verdicts(collected)
    assert (table[list(KINDS)].sum(axis="columns") == table["all"]).all()
    assert table["all"].iloc[-1] == sum(map(len, collected.values()))


def test_the_readme_counts_them_as_they_are_and_first(collected: Collected, root: Path) -> None:
    readme = (root / "README.md").read_text()
    marks = re.search(r"<!-- table:verdicts -->\n.*?\n.*?\n(.*?)<!-- end -->", readme, re.S)
    assert marks is not None
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in marks[1].splitlines()]
    counted = verdicts(collected).astype(str).to_numpy().tolist()
    assert shown == counted
    assert re.findall(r"^## (.*)", readme, re.M)[0] == "Results at a glance"


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("reproduced", "reproduced"),
        ("reproduced up to 1 revolution", "in part"),
        ("pattern reproduced on a stand-in", "in part"),
        ("partly: L1", "in part"),
        ("not reproduced as printed", "not reproduced"),
        ("undecided", "undecided"),
    ],
)
def test_only_what_has_no_limit_counts_as_reproduced(verdict: str, kind: str) -> None:
    assert kind_of(verdict) == kind


def test_anchors_are_githubs() -> None:
    assert anchor("The spirals' mechanism: L1, 50 %") == "the-spirals-mechanism-l1-50-"
    assert anchor("AND-mask") == "and-mask"
