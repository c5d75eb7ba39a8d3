"""The rules on the linear unit tests can come out in every way that makes sense."""

from __future__ import annotations

import pytest

from lab.experiments.linear_unit_tests.claims.published_table import agreement_rule
from lab.experiments.linear_unit_tests.claims.rotation import Errors, rotation_rule


@pytest.mark.parametrize(
    ("within", "run", "published", "verdict"),
    [
        (30, 30, 30, "reproduced"),
        (29, 30, 30, "in part: 29 of 30"),
        (187, 188, 540, "in part: 187 of 188 that were run, of 540"),
        (188, 188, 540, "in part: 188 of 188 that were run, of 540"),
        (15, 30, 30, "not reproduced: 15 of 30"),
        (0, 30, 30, "not reproduced: 0 of 30"),
        (0, 0, 30, "undecided: none was run"),
    ],
)
def test_agreement(within: int, run: int, published: int, verdict: str) -> None:
    assert agreement_rule(within, run, published) == verdict


@pytest.mark.parametrize(
    ("lost", "seeds", "verdict"),
    [
        ({"1s": 0.34, "3s": 1.2}, 10, "holds"),
        ({"1s": 0.18, "3s": 0.8}, 10, "in part: on 3s, a part of it on 1s"),
        ({"1s": -0.1, "3s": 1.2}, 10, "in part: on 3s"),
        ({"1s": 0.1, "3s": 0.2}, 10, "in part: a part of it on 1s and 3s"),
        ({"1s": -0.1, "3s": -0.2}, 10, "does not hold"),
        ({"1s": 0.34, "3s": 1.2}, 2, "undecided: 2 seeds"),
    ],
)
def test_rotation(lost: dict[str, float], seeds: int, verdict: str) -> None:
    assert rotation_rule(lost, seeds) == verdict


def test_the_share_of_the_gain_that_is_lost() -> None:
    assert Errors(plain=10, mask=6, plain_turned=10, mask_turned=9).lost == pytest.approx(0.75)
    assert Errors(plain=10, mask=6, plain_turned=8, mask_turned=4).lost == pytest.approx(0)
    assert Errors(plain=10, mask=6, plain_turned=8, mask_turned=9).lost == pytest.approx(1.25)
