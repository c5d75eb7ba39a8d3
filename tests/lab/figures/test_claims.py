"""The claims together: short enough to see at a glance, told apart, and on their page as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.figures.claims import FINDINGS, PAGE, Claim, anchor, collect, verdicts
from lab.figures.claims_page import page
from lab.figures.discovery import ORDER
from lab.figures.verdicts import HOLDS, KINDS

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
        assert all((claim.claim, claim.ours, claim.verdict, claim.rule)), claim.short
        assert bool(claim.paper) is not claim.finding, claim.short
        assert len(claim.ours.split()) <= 200, f"{claim.short}: put the numbers into its table"
    anchors = [anchor(claim.short) for claim in claims]
    assert len(set(anchors)) == len(anchors)


def test_no_claim_prints_a_missing_number(collected: Collected) -> None:
    for claim in (claim for claims in collected.values() for claim in claims):
        said = f"{claim.ours} {claim.number} {claim.verdict} {claim.table}"
        assert not re.search(r"\b(nan|inf)\b", said), claim.short


def test_the_committed_page_is_current(collected: Collected, root: Path) -> None:
    assert (root / PAGE).read_text() == page(collected)


def test_every_row_links_to_a_heading(collected: Collected) -> None:
    text = page(collected)
    headings = re.findall(r"^### (.*)$", text, re.M)
    assert re.findall(r"^\| \[[^]]*\]\(#([^)]*)\)", text, re.M) == [anchor(heading) for heading in headings]


def test_every_claim_is_counted_once(collected: Collected) -> None:
    table = verdicts(collected)
    assert (table[list(KINDS)].sum(axis="columns") == table["all"]).all()
    assert (table["all"] + table[FINDINGS]).iloc[-1] == sum(map(len, collected.values()))
    for claim in (claim for claims in collected.values() for claim in claims):
        assert claim.kind in (KINDS if not claim.finding else (*HOLDS, *KINDS[1:])), claim.short


def test_a_refuted_statement_and_a_finding_have_columns_of_their_own() -> None:
    def claim(verdict: str, finding: bool = False) -> Claim:
        return Claim("a", "b", "" if finding else "c", "d", "1", verdict, finding=finding)

    claims = [claim("refuted: false"), claim("reproduced"), claim("holds", True), claim("in part", True)]
    row = verdicts({"Toy": claims}).iloc[0]
    assert (row["all"], row["refuted"], row["reproduced"], row["in part"], row[FINDINGS]) == (2, 1, 1, 0, 2)


def test_the_page_says_first_how_verdicts_are_made_and_what_is_negative() -> None:
    holds = Claim("Masks cost much", "b", "", "d", "57 x", "holds", finding=True, warning=True, rule="cost/x")
    fails = Claim("Masks are free", "b", "c", "d", "57 x", "refuted: no", rule="cost/y")
    good = Claim(
        "Masks exist", "b", "c", "d", "1", "reproduced", thesis="Two masks.", table="|a|\n", rule="cost/z"
    )
    text = page({"Toy": [good, fails, holds]})
    places = [
        text.index(words)
        for words in (
            "## How a verdict is made",
            "- [Masks cost much](#masks-cost-much): holds (57 x).",
            "- [Masks are free](#masks-are-free): refuted (57 x).",
            "## Toy",
            "### Masks exist",
            "\n\n|a|\n",
        )
    ]
    assert places == sorted(places)
    assert "- [Masks exist]" not in text
    assert "- **Thesis, chapter 3:** Two masks." in text
    assert "[Masks cost much](#masks-cost-much) (ours)" in text
    assert "- **Source:**" not in text[text.index("### Masks cost much") :]
    assert "- **Rule:** [`cost/x`](../src/lab/experiments/cost/claims/x.py), " in text


def test_the_readme_counts_them_as_they_are_and_first(collected: Collected, root: Path) -> None:
    readme = (root / "README.md").read_text()
    marks = re.search(r"<!-- table:verdicts -->\n.*?\n.*?\n(.*?)<!-- end -->", readme, re.S)
    assert marks is not None
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in marks[1].splitlines()]
    counted = verdicts(collected).astype(str).to_numpy().tolist()
    assert shown == counted
    assert re.findall(r"^## (.*)", readme, re.M)[:2] == ["Your own model", "Results at a glance"]


def test_anchors_are_githubs() -> None:
    assert anchor("The spirals' mechanism: L1, 50 %") == "the-spirals-mechanism-l1-50-"
    assert anchor("AND-mask") == "and-mask"
