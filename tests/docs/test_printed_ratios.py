"""Ratios that pages print by hand are those of the numbers beside them, or of the claims."""

from __future__ import annotations

import re
from pathlib import Path

from docs.page_text import page_text


def test_the_readme_counts_published_errors_as_the_claim_does(root: Path) -> None:
    (counted,) = re.findall(
        r"with 50 data seeds: (\d+ of \d+) published errors", (root / "README.md").read_text()
    )
    claims = page_text(root, "claims")
    assert f"{counted}, at most" in claims and f"in part: {counted}" in claims
