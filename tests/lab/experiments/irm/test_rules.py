"""The rules of the claims about IRM return every verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from lab.experiments.irm.claims import authors_protocol, colored, cue, linear, slow_ramp, stability
from lab.experiments.irm.claims.authors_protocol import Mean
from lab.experiments.irm.claims.cue import Accuracies
from lab.experiments.irm.claims.stability import AT_ONCE, PLAIN_FIRST
from lab.experiments.irm.results import OUTCOMES, PUBLISHED
from lab.figures.verdicts import kind_of

RIGHT = [1.0, 1.0, 0.0, 0.0]
ON_AVERAGE = "in part: the four weights are the expected ones on average, not in every seed"


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ([RIGHT, RIGHT, [1.04, 0.96, 0.04, 0.0]], [RIGHT] * 3, "reproduced"),
        ([[1.06, 1, 0, 0], [0.94, 1, 0, 0], RIGHT], [[9.0] * 4] * 3, ON_AVERAGE),
        ([[9.0, 9, 9, 9], [9.1, 9, 9, 9], [9.0] * 4], [RIGHT] * 3, "in part: with our steps"),
        ([[9.0, 9, 9, 9], [9.1, 9, 9, 9], [9.0] * 4], [[0.0, 0, 9, 9]] * 3, "not reproduced"),
        # The means are .2 off with a standard error of .17.
        ([[1.5, 1, 0, 0], [0.9, 1, 0, 0], [1.2, 1, 0, 0]], [[0.0, 0, 9, 9]] * 3, "undecided"),
        ([RIGHT, RIGHT], [RIGHT, RIGHT], "undecided: 2 seeds"),
        ([], [[0.0, 0, 9, 9]] * 3, "undecided: 0 seeds"),
    ],
)
def test_the_weights(theirs: list[list[float]], ours: list[list[float]], expected: str) -> None:
    assert linear.verdict(np.array(theirs).reshape(-1, 4), np.array(ours), RIGHT) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "reproduced"),
        ({"mean": (0.85, 0.17)}, "in part: the pattern agrees, the numbers do not"),
        ({"irm_penalty": (0.71, 0.49)}, "not reproduced"),
        ({"irm_penalty": (0.71, 0.75)}, "not reproduced"),  # Better than the ideal.
    ],
)
def test_the_authors_table(changed: dict[str, tuple[float, float]], expected: str) -> None:
    means = {**PUBLISHED, **changed}
    found = {name: tuple(Mean(value, 0.005) for value in values) for name, values in means.items()}
    assert authors_protocol.verdict(found) == expected
    found["irm_penalty"] = (Mean(0.7, 0.01), Mean(0.6, 0.06))
    assert authors_protocol.verdict(found) == "undecided: the restarts differ too much"


@pytest.mark.parametrize(
    ("leaving", "room", "expected"),
    [
        (20, 0.5, "reproduced"),
        (18, 0.5, "in part: 18 of 20 seeds"),
        (11, 0.5, "undecided"),
        (2, 0.5, "not reproduced"),
        (0, 0.5, "not reproduced"),
        (20, 0.1, "undecided: there is nothing to gain"),
    ],
)
def test_settings_without_test_data(leaving: int, room: float, expected: str) -> None:
    assert colored.verdict(leaving, 20, room) == expected
    assert colored.verdict(min(leaving, 2), 2, room) == "undecided: 2 seeds"


@pytest.mark.parametrize(
    ("passing", "expected"),
    [
        (20, "reproduced"),
        (16, "reproduced"),
        (11, "in part: 11 of 20 seeds"),
        (3, "in part: 3 of 20 seeds"),
        (0, "not reproduced"),
    ],
)
def test_the_slow_ramp(passing: int, expected: str) -> None:
    assert slow_ramp.ramp(passing, 20) == expected


def test_more_passing_seeds_are_never_a_worse_verdict() -> None:
    found = [kind_of(slow_ramp.ramp(passing, 20)) for passing in range(21)]
    order = ["not reproduced", "in part", "reproduced"]
    assert sorted(found, key=order.index) == found and set(found) == set(order)
    assert slow_ramp.ramp(2, 2) == "undecided: 2 seeds"


@dataclass(frozen=True)
class Case:
    """Which share of early and of late runs works or collapses, and the verdict's beginning."""

    early: tuple[float, float]
    late: tuple[float, float]
    expected: str


@pytest.mark.parametrize(
    "case",
    [
        Case((0, 1), (1, 0), "reproduced"),
        Case((0, 0.5), (1, 0), "in part: no early penalty works"),
        Case((0, 1), (0.5, 0.5), "in part: no early penalty works"),
        Case((0, 0), (1, 0), "not reproduced: an early penalty fails without a collapse"),
        Case((0.6, 0.4), (1, 0), "not reproduced: an early penalty works too"),
        Case((0, 1), (0.1, 0), "undecided: no schedule works"),
    ],
)
def test_beginning_as_plain_training(case: Case) -> None:
    def shares(success: float, collapsed: float) -> dict[str, float]:
        return {**dict.fromkeys(OUTCOMES, 0.0), "success": success, "collapsed": collapsed}

    groups = ((AT_ONCE, case.early), (PLAIN_FIRST, case.late))
    found = {name: shares(*of) for names, of in groups for name in names}
    assert stability.begins_plain(found, 3).startswith(case.expected)
    assert stability.begins_plain(found, 2) == "undecided"
    del found[AT_ONCE[0]]
    assert stability.begins_plain(found, 3) == "undecided"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ({0.7: Accuracies(0.9, 0.95, 0.91)}, "reproduced"),
        ({0.7: Accuracies(0.9, 0.95, 0.8)}, "in part: the mask helps, but does not drop the cue"),
        ({0.2: Accuracies(0.9, 0.9, 0.9), 0.7: Accuracies(0.8, 0.1, 0.1)}, "in part: the mask helps"),
        ({0.7: Accuracies(0.8, 0.1, 0.1)}, "not reproduced"),
        ({0.7: Accuracies(0.5, 0.5, 0.5)}, "undecided: nothing is learned"),
        ({0.5: Accuracies(0.9, 0.95, 0.95)}, "undecided"),  # It passes there by arithmetic.
    ],
)
def test_cows_and_camels(at: dict[float, Accuracies], expected: str) -> None:
    assert cue.verdict({0.0: Accuracies(0.9, 0.8, 0.8), **at}, 3).startswith(expected)
    assert cue.verdict({0.0: Accuracies(0.9, 0.8, 0.8), **at}, 2).startswith("undecided")
    assert cue.verdict(at, 3) == "undecided"
