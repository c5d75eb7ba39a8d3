"""Ratios that pages print by hand are those of the numbers beside them, or of the claims."""

from __future__ import annotations

import re
from pathlib import Path

from docs.page_text import page_text


def test_what_a_search_finds_beyond_the_expansion(root: Path) -> None:
    text = (root / "docs" / "consistency.md").read_text()
    rows = re.findall(r"^\| [\d.]+ \| -([\d.]+) \| -\1 \| -([\d.]+) \|$", text, re.M)
    more = [100 * (float(search) / float(expansion) - 1) for expansion, search in rows]
    assert len(more) == 3
    said = f"{more[0]:.1f} %, {more[1]:.0f} % and {more[2]:.0f} % here"
    assert said in page_text(root, "consistency")


def test_the_readme_counts_published_errors_as_the_claim_does(root: Path) -> None:
    (counted,) = re.findall(
        r"with 50 data seeds: (\d+ of \d+) published errors", (root / "README.md").read_text()
    )
    claims = page_text(root, "claims")
    assert f"{counted}, at most" in claims and f"in part: {counted}" in claims
