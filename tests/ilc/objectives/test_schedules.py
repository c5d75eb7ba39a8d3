"""Penalty weights over optimizer steps."""

from __future__ import annotations

import math

import pytest

from ilc.errors import UserError
from ilc.objectives import PenaltySchedule


def test_constant() -> None:
    schedule = PenaltySchedule("constant", 7.0, 1, 0.0)
    assert [schedule(step) for step in (0, 5, 500)] == [7.0, 7.0, 7.0]
    assert not any(schedule.jumps_at(step) for step in range(10))


@pytest.mark.parametrize("initial", [0.0, 1.0])
def test_step_takes_k_steps_at_the_initial_weight(initial: float) -> None:
    schedule = PenaltySchedule("step", 100.0, 3, initial)
    assert [schedule(step) for step in range(5)] == [initial, initial, initial, 100.0, 100.0]
    assert [schedule.jumps_at(step) for step in range(5)] == [False, False, False, True, False]


def test_a_step_after_no_steps_is_constant() -> None:
    schedule = PenaltySchedule("step", 7.0, 0, 1.0)
    assert [schedule(step) for step in range(3)] == [7.0, 7.0, 7.0]


def test_ramp_rises_and_stays() -> None:
    straight = PenaltySchedule("ramp", 10.0, 4, 2.0, power=1.0)
    assert [straight(step) for step in range(6)] == [2.0, 4.0, 6.0, 8.0, 10.0, 10.0]
    bent = PenaltySchedule("ramp", 10.0, 4, 0.0, power=2.0)
    assert [bent(step) for step in range(6)] == [0.0, 0.625, 2.5, 5.625, 10.0, 10.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jump", 1.0, 1, 0.0), "one of constant, step, ramp"),
        (("constant", -1.0, 1, 0.0), "finite and at least 0"),
        (("constant", math.inf, 1, 0.0), "finite and at least 0"),
        (("step", 1.0, 1, math.nan), "finite and at least 0"),
        (("step", 1.0, -1, 0.0), r"schedule_steps\) of at least 0"),
        (("ramp", 1.0, 0, 0.0), r"schedule_steps\) of at least 1"),
        (("ramp", 1.0, 5, 0.0, 0.0), "ramp_power"),
    ],
)
def test_errors(arguments: tuple[str, float, int, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        PenaltySchedule(*arguments)
