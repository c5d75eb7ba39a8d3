"""The rules of chapter 4's claims return every verdict, and judge the thesis's own setting first."""

from __future__ import annotations

import pytest

from lab.experiments.distillation.claims import (
    ablations,
    game_of_life,
    labels,
    mujoco,
    mujoco_order,
    privileged,
)
from lab.experiments.distillation.claims.labels import Cell
from lab.experiments.distillation.claims.privileged import Accuracy
from lab.figures.two_groups import Difference

LOWER, SAME, HIGHER = Difference(-1.0, 0.001), Difference(-0.1, 0.6), Difference(1.0, 0.001)
BARELY = Difference(1.0, 0.03)
GOOD, CLOSE, OVERLAP, BAD = (
    Cell(0.05, 0.1, 0.3, 0.2),
    Cell(0.05, 0.15, 0.3, 0.2),
    Cell(0.05, 0.25, 0.3, 0.2),
    Cell(0.35, 0.5, 0.3, 0.2),
)


@pytest.mark.parametrize(
    ("thesis", "variant", "expected"),
    [
        (GOOD, BAD, "reproduced"),
        (CLOSE, GOOD, "in part: in the thesis's setting by less, by a half or more x 3"),
        (BAD, GOOD, "in part: by a half or more x 3"),
        (CLOSE, BAD, "in part: better by less than a half"),
        (OVERLAP, BAD, "undecided"),
        (BAD, CLOSE, "not reproduced"),
        (None, GOOD, "pending: 1 of 2 runs"),
    ],
)
def test_noisy_labels(thesis: Cell | None, variant: Cell, expected: str) -> None:
    assert labels.verdict(thesis, {"x 3": variant}, "1 of 2 runs") == expected


@pytest.mark.parametrize(
    ("plain", "fixed", "redrawn", "expected"),
    [
        (0.55, (0.94, 0.9), 0.5, "reproduced"),
        (0.55, (0.8, 0.3), 0.94, f"in part: {privileged.REDRAWN}"),
        (0.57, (0.95, 0.9), 0.95, "in part: better, but not as in the authors' drawing"),
        (0.55, (0.8, 0.7), 0.9, "in part: better, but not as in the authors' drawing"),
        (0.55, (0.6, 0.3), 0.9, "undecided"),
        (0.55, (0.5, 0.4), 0.95, "not reproduced"),
    ],
)
def test_noisy_privileged_data(
    plain: float, fixed: tuple[float, float], redrawn: float, expected: str
) -> None:
    def around(median: float) -> Accuracy:
        return Accuracy(median, median - 0.05, median + 0.05)

    found = privileged.verdict(around(plain), Accuracy(*fixed, 1.0), around(redrawn))
    assert found == expected


@pytest.mark.parametrize(
    ("found", "limit", "expected"),
    [
        ([[HIGHER], [HIGHER, HIGHER]], "", "reproduced"),
        ([[HIGHER], [HIGHER, HIGHER]], "on a stand-in", "in part: on a stand-in"),
        ([[HIGHER], [HIGHER, LOWER]], "", "in part: 1 of 2 statements, 1 fails"),
        ([[HIGHER], [HIGHER, SAME]], "", "in part: 1 of 2 statements, 1 open"),
        ([[LOWER], [SAME]], "", "not reproduced"),
        ([[SAME], [SAME]], "", "undecided"),
        # Significant alone, not as one of three.
        ([[BARELY], [BARELY, BARELY]], "", "undecided"),
    ],
)
def test_what_a_teacher_needs(found: list[list[Difference]], limit: str, expected: str) -> None:
    assert ablations.verdict({str(i): own for i, own in enumerate(found)}, limit) == expected


@pytest.mark.parametrize(
    ("none", "frozen", "there", "limit", "expected"),
    [
        (HIGHER, HIGHER, True, "", "reproduced"),
        (HIGHER, HIGHER, True, "with a redrawn split", "in part: with a redrawn split"),
        (HIGHER, HIGHER, False, "", "in part: only in a smaller game"),
        (HIGHER, SAME, True, "", "in part: better than no teacher; sure for 1 of 2 against frozen ones"),
        (
            HIGHER,
            SAME,
            False,
            "",
            "in part: better than no teacher, in a smaller game; sure for 1 of 2 against frozen ones",
        ),
        (HIGHER, LOWER, True, "", "in part: a frozen teacher is better"),
        (SAME, HIGHER, True, "", "undecided"),
        (LOWER, HIGHER, True, "", "not reproduced"),
    ],
)
def test_the_game_of_life(
    none: Difference, frozen: Difference, there: bool, limit: str, expected: str
) -> None:
    assert game_of_life.verdict([HIGHER, none], [HIGHER, frozen], there, limit) == expected


@pytest.mark.parametrize(
    ("ratio", "better", "frozen", "limit", "expected"),
    [
        (0.6, LOWER, HIGHER, "", "reproduced"),
        (0.6, LOWER, HIGHER, "with a reduced teacher", "in part: with a reduced teacher"),
        (0.9, LOWER, HIGHER, "", "in part: better by less than a quarter"),
        (0.6, LOWER, LOWER, "", "in part: a frozen teacher helps too"),
        (0.6, LOWER, SAME, "", "in part: open whether a frozen one helps"),
        (0.6, SAME, HIGHER, "", "undecided"),
        (1.5, HIGHER, HIGHER, "", "not reproduced"),
    ],
)
def test_hopper(ratio: float, better: Difference, frozen: Difference, limit: str, expected: str) -> None:
    assert mujoco.verdict(ratio, better, frozen, limit) == expected


@pytest.mark.parametrize(
    ("one", "other", "limit", "expected"),
    [
        ((LOWER, LOWER), (LOWER, LOWER), "", "reproduced"),
        ((LOWER, LOWER), (LOWER, LOWER), "with a reduced teacher", "in part: with a reduced teacher"),
        ((LOWER, LOWER), (SAME, LOWER), "", "in part: the order is sure on 1 of 2 environments"),
        (
            (LOWER, LOWER),
            (HIGHER, LOWER),
            "",
            "in part: the order is sure on 1 of 2 environments, reversed on 1",
        ),
        ((SAME, LOWER), (SAME, HIGHER), "", "not reproduced"),
        ((SAME, LOWER), (LOWER, SAME), "", "undecided"),
    ],
)
def test_the_order_on_mujoco(
    one: tuple[Difference, Difference], other: tuple[Difference, Difference], limit: str, expected: str
) -> None:
    assert mujoco_order.verdict({"Hopper": one, "Swimmer": other}, 2, limit) == expected
