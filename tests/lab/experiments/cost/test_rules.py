"""The rules on costs can come out in every way that makes sense."""

from __future__ import annotations

import pytest

from lab.experiments.cost.claims.complexity import complexity_rule
from lab.experiments.cost.claims.exact_votes import dear_rule

FLAT, FALLING, GROWING = [1.2, 1.3, 1.1], [4.9, 2.7, 1.3], [3.0, 9.0, 36.0]


@pytest.mark.parametrize(
    ("by_environments", "by_examples", "memory", "elsewhere", "exact", "verdict"),
    [
        (FLAT, FLAT, 1.1, 1.2, 1.4, "reproduced"),
        (
            [2.0, 2.1],
            FALLING,
            1.1,
            1.2,
            57.0,
            "in part: linear on a perceptron, but 1.30 to 4.90 times a plain pass, 57 times with exact votes "
            "of examples under BatchNorm, and up to 1.2 times the memory on other networks",
        ),
        (
            FLAT,
            FLAT,
            1.1,
            3.1,
            1.4,
            "in part: linear on a perceptron, but 1.10 to 1.30 times a plain pass, 1 times with exact votes "
            "of examples under BatchNorm, and up to 3.1 times the memory on other networks",
        ),
        (GROWING, FALLING, 1.1, 1.2, 57.0, "in part: linear only in space"),
        (FLAT, GROWING, 1.1, 1.2, 57.0, "in part: linear only in space"),
        (FLAT, FALLING, 4.0, 1.2, 57.0, "in part: linear only in time"),
        (GROWING, FALLING, 4.0, 1.2, 57.0, "not reproduced"),
        ([1.0], FALLING, 1.1, 1.2, 57.0, "undecided: one size tells nothing about growth"),
    ],
)
def test_complexity(
    by_environments: list[float],
    by_examples: list[float],
    memory: float,
    elsewhere: float,
    exact: float,
    verdict: str,
) -> None:
    assert complexity_rule(by_environments, by_examples, memory, elsewhere, exact) == verdict


@pytest.mark.parametrize(
    ("exact", "local", "verdict"),
    [
        (57.0, 2.5, "holds"),
        (57.0, 6.0, "in part: exact votes are dear"),
        (3.0, 2.5, "in part: local votes are cheap"),
        (5.0, 6.0, "does not hold"),
    ],
)
def test_exact_votes(exact: float, local: float, verdict: str) -> None:
    assert dear_rule(exact, local) == verdict
