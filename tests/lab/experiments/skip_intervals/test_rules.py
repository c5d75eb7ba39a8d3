"""The rules of chapter 2's claims return every verdict, and are corrected for the number of comparisons."""

from __future__ import annotations

import pytest

from lab.experiments.skip_intervals.verdicts import Against, more_accurate, saves
from lab.figures.two_groups import Difference

MORE, BARELY, SAME, FEWER = (
    Difference(1.0, 0.001),
    Difference(1.0, 0.03),
    Difference(0.1, 0.6),
    Difference(-1.0, 0.001),
)
SLIGHTLY_LESS = Difference(-0.1, 0.6)


@pytest.mark.parametrize(
    ("gaps", "limit", "expected"),
    [
        ([MORE, MORE], "", "reproduced"),
        ([MORE, MORE], "at a small scale", "in part: at a small scale"),
        ([MORE, FEWER], "", "not reproduced: step 2 more accurate"),
        ([MORE, SAME], "", "undecided: sure only against step 1"),
        ([SAME, SAME], "", "undecided"),
        ([BARELY], "", "reproduced"),
        ([BARELY, BARELY], "", "undecided"),
    ],
)
def test_accuracy(gaps: list[Difference], limit: str, expected: str) -> None:
    assert more_accurate({f"step {i}": gap for i, gap in enumerate(gaps, start=1)}, limit) == expected


@pytest.mark.parametrize(
    ("against", "limit", "expected"),
    [
        ([Against(MORE, FEWER), Against(SAME, FEWER)], "", "reproduced"),
        ([Against(MORE, FEWER), Against(SAME, FEWER)], "at a small scale", "in part: at a small scale"),
        ([Against(MORE, FEWER), Against(SAME, MORE)], "", "in part: against step 1, not against step 2"),
        ([Against(MORE, FEWER), Against(SAME, SAME)], "", "in part: against step 1, open against step 2"),
        # Fewer calls, but accuracy may be lost, or is.
        ([Against(SLIGHTLY_LESS, FEWER)], "", "undecided"),
        ([Against(FEWER, FEWER)], "", "not reproduced: not against step 1"),
        ([Against(MORE, MORE), Against(SAME, SAME)], "", "not reproduced: not against step 1"),
        ([Against(SAME, SAME)], "", "undecided"),
    ],
)
def test_savings(against: list[Against], limit: str, expected: str) -> None:
    assert saves({f"step {i}": one for i, one in enumerate(against, start=1)}, limit) == expected
