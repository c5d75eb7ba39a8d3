"""The rule of the findings gives each outcome for made-up numbers."""

from __future__ import annotations

from lab.experiments.lora_domains.claims.masks import verdicts
from lab.figures.mean_interval import mean_interval
from lab.figures.two_groups import paired

NOTHING = [0.1, -0.1, 0.2, -0.2, 0.05]


def test_each_outcome() -> None:
    assert verdicts([[9, 10, 11, 10, 9]]) == ["holds"]
    assert verdicts([[2, 2.1, 1.9, 2, 2.2]]) == ["in part: by less than 5 points"]
    assert verdicts([[-9, -10, -11, -10, -9]]) == ["does not hold: the other way round"]
    assert verdicts([NOTHING]) == ["does not hold: less than 5 points"]
    assert verdicts([[30, -20, 15, 0, 10]]) == ["undecided: the seeds differ too much"]
    assert verdicts([[9, 10]]) == verdicts([[9]]) == ["undecided: too few seeds"]


def test_comparisons_share_the_level() -> None:
    close = [6.0, 10, 2, 12, 3]
    assert 0.05 / 3 < paired(close).p_value < 0.05
    assert verdicts([close]) == ["holds"]
    assert verdicts([close, NOTHING, NOTHING])[0] == "undecided: the seeds differ too much"


def test_p_value_and_interval_agree() -> None:
    at_the_edge = [1.0, 3, 2, 5, -1.2]
    low, high = mean_interval(at_the_edge)
    assert (low < 0 < high) == (paired(at_the_edge).p_value > 0.05)
    shifted = [value - low for value in at_the_edge]
    assert abs(paired(shifted).p_value - 0.05) < 1e-9
