"""The words of verdicts: their kinds, one verdict from several settings, and several comparisons together."""

from __future__ import annotations

import pytest

from lab.figures.verdicts import HOLDS, KINDS, at_settings, kind_of, significant


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("reproduced", "reproduced"),
        ("reproduced up to 1 revolution", "in part"),
        ("pattern reproduced on a stand-in", "in part"),
        ("partly: L1", "in part"),
        ("in part: mixed", "in part"),
        ("not reproduced as printed", "not reproduced"),
        ("refuted: by a counterexample, it holds with the constant 4", "refuted"),
        ("undecided", "undecided"),
        ("pending: 1 of 2 runs", "pending"),
        ("holds", "holds"),
        ("holds in most seeds", "in part"),
        ("does not hold, on other data", "does not hold"),
    ],
)
def test_only_what_has_no_limit_counts_as_reproduced(verdict: str, kind: str) -> None:
    assert kind_of(verdict) == kind
    assert kind in (*KINDS, *HOLDS)


@pytest.mark.parametrize(
    ("two", "three", "verdict"),
    [
        ("reproduced", "reproduced", "reproduced"),
        ("in part: for L2", "in part: for L2", "in part: for L2"),
        ("in part: 4 of 5", "in part: 1 of 5", "in part: with 2 4 of 5; with 3 1 of 5"),
        (
            "reproduced",
            "undecided: few",
            "in part: reproduced with 2; undecided with 3 (few)",
        ),
        ("in part: for L2", "not reproduced", "in part: partly with 2 (for L2); not reproduced with 3"),
        ("not reproduced: a", "not reproduced: b", "not reproduced: with 2 a; with 3 b"),
        ("not reproduced", "undecided", "undecided: not reproduced with 2; undecided with 3"),
        ("not reproduced", "reproduced", "in part: not reproduced with 2; reproduced with 3"),
    ],
)
def test_what_holds_at_one_setting_alone_holds_in_part(two: str, three: str, verdict: str) -> None:
    found = at_settings({"with 2": two, "with 3": three})
    assert found == verdict
    assert kind_of(found) == verdict.split(":", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.031, 0.025, 0.025, 0.105], [False] * 4),  # Each below .05 but one: none of four.
        ([0.001, 0.02, 0.04], [True, True, True]),  # .05/3, .05/2, .05.
        ([0.04, 0.001, 0.02], [True, True, True]),
        ([0.03, 0.001, 0.04], [False, True, False]),  # .03 is above .05/2, so .04 does not count either.
        ([], []),
        ([float("nan"), 0.001], [False, True]),
    ],
)
def test_comparisons_share_their_level(p_values: list[float], expected: list[bool]) -> None:
    assert significant(p_values) == expected
