"""What rollouts say: perfect simulators are right, blank ones are not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lab.experiments.skip_intervals.methods import method_named
from lab.experiments.skip_intervals.rollouts import measures, roll_out
from lab.experiments.skip_intervals.room_runner import RoomRunner


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> RoomRunner:
    return RoomRunner(str(tmp_path_factory.mktemp("data")), n_train=20, n_validation=20, rest=0)


class Oracle:
    """Knows the truth, and goes so many frames ahead at every call."""

    def __init__(self, rooms: RoomRunner, skip: int) -> None:
        self.validation, self.skip, self.time = rooms.data.validation, skip, 0

    def __call__(self, frames: Tensor) -> Tensor:
        self.time += self.skip
        rows = torch.arange(len(frames))
        times = (self.validation.lengths - 1).clamp(max=self.time)
        return 20 * (2 * self.validation.at(rows, times) - 1)


@pytest.mark.parametrize("skip", [1, 3])
def test_an_oracle_is_right_and_its_skips_are_found(rooms: RoomRunner, skip: int) -> None:
    rollouts = roll_out(Oracle(rooms, skip), rooms, rooms.data.validation, method_named("adaptive", 5), 3)
    found = measures(rollouts, rooms.data.validation)
    assert found["accuracy"] == found["accuracy_soft"] == 1
    assert found["blank"] == 0
    assert torch.equal(rollouts.calls, -(-(rooms.data.validation.lengths - 1) // skip))
    assert rollouts.frames.shape[:2] == (3, rollouts.times.shape[1])


def test_a_blank_rollout_is_wrong_and_softly_half_right(rooms: RoomRunner) -> None:
    rollouts = roll_out(
        lambda frames: torch.full_like(frames, 20.0),
        rooms,
        rooms.data.validation,
        method_named("fixed_2", 1),
        2,
    )
    found = measures(rollouts, rooms.data.validation)
    assert (found["accuracy"], found["accuracy_soft"], found["blank"]) == (0, 0.5, 1)


def test_a_copying_simulator_ends_too(rooms: RoomRunner) -> None:
    rollouts = roll_out(
        lambda frames: 8 * (2 * frames - 1), rooms, rooms.data.validation, method_named("adaptive", 4), 2
    )
    assert (rollouts.calls <= rooms.data.validation.lengths - 1).all()
    assert measures(rollouts, rooms.data.validation)["blank"] == 1
