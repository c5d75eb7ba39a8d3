"""The ratios that docs/cost.md prints by hand are those of the numbers beside them."""

from __future__ import annotations

import re
from pathlib import Path


def test_votes_beside_threshold_0(root: Path) -> None:
    text = (root / "docs" / "cost.md").read_text()
    rows = re.findall(r"^\| \d+, \d x \d+ x \d+ \| \d+ \| (\d+) \| (\d+) \| ([\d.]+) \|$", text, re.M)
    assert len(rows) == 3
    for plain, votes, ratio in rows:
        # Each number of milliseconds is rounded.
        low, high = ((int(votes) + part) / (int(plain) - part) for part in (-0.5, 0.5))
        assert low - 0.05 <= float(ratio) <= high + 0.05, (plain, votes, ratio)
