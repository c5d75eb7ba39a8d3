"""The claims together: short enough to see at a glance, told apart, and on their page as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ilc.figures.claims import PAGE, Claim, anchor, at_a_glance, collect, page
from ilc.figures.discovery import ORDER

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
    headings = re.findall(r"^### (.*)$", page(collected), re.M)
    links = at_a_glance(collected)["in full"]
    assert [link.partition("#")[2].rstrip(")") for link in links] == [anchor(text) for text in headings]


def test_anchors_are_githubs() -> None:
    assert anchor("The spirals' mechanism: L1, 50 %") == "the-spirals-mechanism-l1-50-"
    assert anchor("AND-mask") == "and-mask"
