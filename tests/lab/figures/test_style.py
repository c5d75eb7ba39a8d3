"""A method that nobody gave a colour and a label has both."""

from __future__ import annotations

import json

import pandas as pd

from lab.figures.style import COLORS, FURTHER_COLORS, LABELS, median_and_range


def test_an_unknown_method_has_the_same_colour_each_time_and_its_name_as_label() -> None:
    known = dict(COLORS)
    assert COLORS["median_sign"] == COLORS["median_sign"]
    assert COLORS["median_sign"] in FURTHER_COLORS
    assert LABELS["median_sign"] == "median sign"
    assert dict(COLORS) == known == json.loads(json.dumps(COLORS))


def test_no_method_of_its_own_colour_shares_it() -> None:
    assert not {*COLORS.values()} & {*FURTHER_COLORS}


def test_shares_are_printed_as_median_and_range_and_a_single_one_has_no_range() -> None:
    assert median_and_range(pd.Series([0.5, 0.9, 0.61])) == "61.0 (50.0 to 90.0)"
    assert median_and_range(pd.Series([0.5])) == "50.0"
    assert median_and_range(pd.Series([0.5, float("nan")])) == "50.0"
