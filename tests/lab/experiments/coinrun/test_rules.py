"""The rules of section 3.3's claims return every verdict, and correct for the number of comparisons."""

from __future__ import annotations

import pytest

from lab.experiments.coinrun.claims import generalisation, weight_decay
from lab.experiments.coinrun.comparison import Comparison
from lab.figures.holm import LEVEL
from lab.figures.two_groups import Difference

BETTER, WORSE, SAME, BARELY = -0.1, 0.1, -0.001, -0.029
"""Differences with a standard error of 0.01: p = 0.0006, 0.0006, 0.9, and 0.044 with four seeds' freedom."""

TOO_FEW = "undecided: too few trials that differ in nothing else"


def compared(*differences: tuple[float, float]) -> dict[int, dict[str, Comparison]]:
    """Differences from Adam and from the mask's settings without it, the shortest budget first."""
    return {
        512 * 4**i: {
            other: Comparison(difference, 0.01, seeds=5, levels=2000)
            for other, difference in zip(("adam", "unmasked"), pair, strict=True)
        }
        for i, pair in enumerate(differences)
    }


@pytest.mark.parametrize(
    ("short", "long", "limit", "expected"),
    [
        ((SAME, SAME), (BETTER, BETTER), "", "reproduced"),
        ((WORSE, WORSE), (BETTER, BETTER), "", "reproduced"),
        ((SAME, SAME), (BETTER, BETTER), "on a stand-in", "in part: on a stand-in"),
        ((BETTER, BETTER), (BETTER, SAME), "", "in part: in short training"),
        ((BETTER, BETTER), (BETTER, WORSE), "", "not reproduced"),
        ((BETTER, BETTER), (WORSE, BETTER), "", "not reproduced"),
        ((BETTER, SAME), (BETTER, SAME), "", "undecided"),
        ((SAME, SAME), (SAME, SAME), "", "undecided"),
        # Each of the four is below 0.05 alone, and none after the correction.
        ((BARELY, BARELY), (BARELY, BARELY), "", "undecided"),
    ],
)
def test_the_temporal_mask(
    short: tuple[float, float], long: tuple[float, float], limit: str, expected: str
) -> None:
    found = compared(short, long)
    assert generalisation.verdict(found, limit) == expected
    assert Comparison(BARELY, 0.01, 5, 2000).p_value < LEVEL


@pytest.mark.parametrize(
    ("adam", "mask", "limit", "expected"),
    [
        (Difference(0.1, 0.01), Difference(0.1, 0.01), "", "reproduced"),
        (Difference(0.1, 0.01), Difference(0.1, 0.01), "with small students", "in part: with small students"),
        (Difference(0.1, 0.9), Difference(0.1, 0.01), "", "in part: for temporal mask"),
        (Difference(0.1, 0.01), Difference(-0.1, 0.9), "", "in part: for adam"),
        (Difference(0.1, 0.01), Difference(-0.1, 0.01), "", "not reproduced: it hurts"),
        (
            Difference(0.1, 0.3),
            Difference(0.1, 0.3),
            "",
            TOO_FEW,
        ),
        # Below 0.05 each, above it together.
        (
            Difference(0.1, 0.04),
            Difference(0.1, 0.04),
            "",
            TOO_FEW,
        ),
    ],
)
def test_weight_decay(adam: Difference, mask: Difference, limit: str, expected: str) -> None:
    assert weight_decay.verdict({"adam": adam, "temporal_mask": mask}, limit) == expected
