"""The page for the authors has every statement that is not simply reproduced, once, with its commands."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lab.figures.authors_page import FORMULA, PAGE, SECTIONS, commands_of, page
from lab.figures.claims import Claim, collect
from lab.figures.studies import studies

Collected = dict[str, list[Claim]]


@pytest.fixture(scope="module")
def collected(root: Path) -> Collected:
    return collect(root / "results")


def test_the_committed_page_is_current(collected: Collected, root: Path) -> None:
    assert (root / PAGE).read_text() == page(collected)


def test_every_statement_that_is_not_reproduced_has_one_section(collected: Collected) -> None:
    for claim in (claim for claims in collected.values() for claim in claims):
        sections = [heading for heading, _, belongs in SECTIONS if belongs(claim)]
        assert len(sections) == (claim.kind not in ("reproduced", "holds", "does not hold")), claim.short


def test_a_claim_knows_the_files_that_its_rule_reads(collected: Collected) -> None:
    """A claim without files comes from a formula. A claim with files has a study that makes one of them."""
    claims = [claim for group in collected.values() for claim in group]
    without = Counter(claim.rule.partition("/")[0] for claim in claims if not claim.files)
    assert set(without) == {"theory"}
    for claim in claims:
        commands = commands_of(claim)
        if claim.files:
            assert {command.removeprefix("python scripts/study.py ") for command in commands} <= {*studies()}
        else:
            assert commands == [FORMULA]


def test_a_statement_stands_where_its_verdict_puts_it() -> None:
    def claim(short: str, verdict: str, reading: str = "", finding: bool = False) -> Claim:
        words = ("" if finding else "They say so.", "d", "7 of 9")
        return Claim(short, "It is.", *words, verdict, finding=finding, reading=reading)

    text = page(
        {
            "Toy": [
                claim("Good", "reproduced"),
                claim("Part", "in part: 7 of 9"),
                claim("Reading", "in part: with 2", reading="how many."),
                claim("False", "refuted: by a number"),
                claim("Ours", "undecided", finding=True),
            ]
        }
    )
    places = [
        text.index(words)
        for words in (
            "- [Statements that are false](#statements-that-are-false): 1",
            "## Statements that are false",
            "### False",
            "- **Number:** 7 of 9.",
            "## Statements that hold only under a reading",
            "### Reading",
            "- **It depends on:** how many.",
            "## Statements of which a part holds",
            "### Part",
            "- **We found:** in part: 7 of 9.",
        )
    ]
    assert places == sorted(places)
    assert "Good" not in text and "Ours" not in text and "Undecided" not in text
    assert "- **Number:**" not in text[text.index("### Part") :]
