"""What stops a run: each rule alone, and what it must leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from lab.runs.one_run.trainer_options import STILL, TrainerOptions


def evaluations(*risks: float, train: float = 0.9, test: float = 0.5) -> list[dict[str, Any]]:
    rows = [
        {"epoch": epoch, "train/loss": risk, "train/accuracy": train, "test/accuracy": test}
        for epoch, risk in enumerate(risks, start=1)
    ]
    return list(rows)


def reason(seen: list[dict[str, Any]], **options: Any) -> str | None:
    return TrainerOptions(max_epochs=10, **options).reason_to_stop(seen)


@pytest.mark.parametrize(
    ("risks", "expected"),
    [
        ((0.7, 0.7, 0.7), None),  # Three evaluations are two moves.
        ((0.7, 0.7, 0.7, 0.7), "still"),
        ((0.7, 0.7, 0.7, 0.7 * (1 - 2 * STILL)), None),
        ((0.7, 0.7 * (1 + 2 * STILL), 0.7, 0.7), None),  # There and back is a move.
        ((0.1, 0.7, 0.7, 0.7, 0.7 * (1 - STILL / 2)), "still"),
    ],
)
def test_a_risk_that_stands_still(risks: tuple[float, ...], expected: str | None) -> None:
    assert reason(evaluations(*risks), stop_when_still=3) == expected
    assert reason(evaluations(*risks)) is None


def test_slow_is_not_still() -> None:
    """A risk that falls by a thousandth per evaluation goes on, far from any accuracy."""
    risks = [0.7 * 0.999**i for i in range(9)]
    assert reason(evaluations(*risks, train=0.5), stop_when_still=2) is None


@pytest.mark.parametrize(
    ("train", "test", "expected"), [(1.0, 1.0, "solved"), (0.999, 1.0, None), (1.0, 0.999, None)]
)
def test_solved_is_every_example_right(train: float, test: float, expected: str | None) -> None:
    assert reason(evaluations(0.1, train=train, test=test), stop_when_solved=True) == expected
    assert reason(evaluations(0.1, train=train, test=test)) is None


def test_nothing_stops_before_the_first_evaluation() -> None:
    every = {"stop_when_memorised": True, "stop_when_solved": True, "stop_when_still": 1, "stop_below": 1.0}
    assert reason([], **every) is None
    assert reason([{"epoch": 9, "score": 1.0}], **every) is None


@pytest.mark.parametrize(
    ("train", "test", "expected"),
    [(0.971, 0.599, "memorised"), (0.97, 0.599, None), (0.971, 0.6, None), (1.0, 1.0, None)],
)
def test_memorised_is_what_the_paper_says(train: float, test: float, expected: str | None) -> None:
    """Training accuracy above 97 % and test accuracy below 60 %."""
    assert reason(evaluations(0.1, train=train, test=test), stop_when_memorised=True) == expected
    assert reason(evaluations(0.1, train=train, test=test)) is None


@pytest.mark.parametrize(
    ("epochs", "train", "expected"),
    [(4, 0.5, None), (5, 0.5, "hopeless"), (9, 0.5, "hopeless"), (5, 0.6, None)],
)
def test_hopeless_is_below_the_bound_once_half_of_the_epochs_are_over(
    epochs: int, train: float, expected: str | None
) -> None:
    assert reason(evaluations(*[0.1] * epochs, train=train), stop_below=0.6) == expected
