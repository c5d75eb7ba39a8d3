"""Schedules at their ends and in between."""

from __future__ import annotations

import pytest

from ilc.errors import UserError
from lab.experiments.skip_intervals.schedules import Exploration, ScheduledSampling, Stages


def test_exploration_falls_linearly_to_zero() -> None:
    exploration = Exploration(0.2)
    assert [exploration.at(share) for share in (0, 0.1, 0.2, 0.5)] == pytest.approx([1, 0.5, 0, 0])
    assert Exploration(0.0).at(0.0) == 0.0


def test_sampling_feeds_truth_until_its_start() -> None:
    linear = ScheduledSampling("linear", start=0.5, length=0.2)
    assert [linear.at(share) for share in (0, 0.5, 0.6, 0.7, 1)] == pytest.approx([1, 1, 0.5, 0, 0])
    inverse = ScheduledSampling("inverse", start=0.0, length=0.1)
    assert [inverse.at(share) for share in (0, 0.1, 0.9)] == pytest.approx([1, 0.5, 0.1])


def test_each_stage_has_its_share() -> None:
    stages = Stages([0.5, 0.3, 0.2], [1, 3, 5], [4, 2, 1], [1.0, 0.1, 0.01])
    assert [stages.at(share) for share in (0, 0.49, 0.5, 0.79, 0.8, 0.99, 1.0)] == [0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    "values",
    [
        ([0.5, 0.4], [1, 1], [1, 1], [1.0, 1.0]),
        ([1.0], [1, 2], [1], [1.0]),
        ([], [], [], []),
        ([1.0], [-1], [1], [1.0]),
        ([1.0], [1], [0], [1.0]),
        ([1.0], [1], [1], [0.0]),
    ],
)
def test_stages_that_do_not_fit_are_refused(
    values: tuple[list[float], list[int], list[int], list[float]],
) -> None:
    with pytest.raises(UserError, match="stages"):
        Stages(*values)


def test_schedules_out_of_range_are_refused() -> None:
    with pytest.raises(UserError, match="exploration"):
        Exploration(1.5)
    for values in (("cosine", 0.0, 1.0), ("linear", 2.0, 1.0), ("linear", 0.0, 0.0)):
        with pytest.raises(UserError, match="sampling"):
            ScheduledSampling(*values)
