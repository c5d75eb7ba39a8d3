"""The physics conserves what it should, and the label is what the last frame shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ilc.errors import UserError
from lab.experiments.skip_intervals import funnel_board
from lab.experiments.skip_intervals.domain import DomainData
from lab.experiments.skip_intervals.funnel_board import FunnelBoard
from lab.experiments.skip_intervals.funnel_course import (
    FLOOR,
    FRAME,
    FUNNEL,
    PLATFORM,
    SLIDER,
    THICK,
    Course,
    draw_course,
    height,
)
from lab.experiments.skip_intervals.funnel_physics import (
    DT,
    FRAME_EVERY,
    GRAVITY,
    PERTURBED,
    STANDARD,
    Bounciness,
    fall,
)
from lab.experiments.skip_intervals.trajectories import Trajectories

pytest.importorskip("pymunk")

RADIUS = 0.25
EVERY = FRAME_EVERY * DT


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> FunnelBoard:
    return FunnelBoard(str(tmp_path_factory.mktemp("data")), n_train=25, n_validation=10, perturbed=True)


def empty(start: tuple[float, float], speed: float) -> Course:
    """A platform between two walls and nothing else."""
    walls = np.array([[[0.0, FLOOR], [2.0, FLOOR]], [[0, 0], [0, 40]], [[2, 0], [2, 40]]])
    return Course(walls, np.array([PLATFORM, FRAME, FRAME]), np.zeros(3, bool), np.array(start), speed)


def test_a_ball_in_the_air_keeps_its_energy_and_its_horizontal_speed() -> None:
    places, _ = fall(empty((0.5, 30.0), 0.3), RADIUS, STANDARD, rest=0)
    free = places[places[:, 1] > FLOOR + 2]
    assert len(free) > 15
    assert np.diff(free[:, 0]) == pytest.approx(0.3 * EVERY, abs=1e-6)
    # The mean speed between two frames is that in the middle of them.
    speed = np.diff(free, axis=0) / EVERY
    energy = (speed**2).sum(1) / 2 + GRAVITY * (free[1:, 1] + free[:-1, 1]) / 2
    # Euler's symplectic steps lose g dt / 2 times the speed at the middle at most.
    assert np.ptp(energy) < 0.02 * energy.mean()
    assert -np.diff(speed[:, 1]) == pytest.approx(GRAVITY * EVERY, rel=1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.7])
def test_a_bounce_keeps_the_share_of_the_speed_that_it_should(restitution: float) -> None:
    bounce = Bounciness(ball=restitution, lively=0.0, dull=0.0)
    places, platform = fall(empty((1.0, 12.0), 0.0), RADIUS, bounce, rest=30)
    assert platform == 0
    low = FLOOR + THICK + RADIUS
    first = int((places[:, 1] < low + 0.5).argmax())
    after = places[first:]
    turned = int(np.diff(after[:, 1]).argmax())
    # It rises to the square of that share of the height that it fell from.
    assert after[turned:, 1].max() - low == pytest.approx(restitution**2 * (12.0 - low), abs=0.25)


def test_a_ball_on_a_board_never_gains_energy() -> None:
    random = np.random.default_rng(0)
    for _ in range(5):
        course = draw_course(5, 3, 0.7, RADIUS, random)
        places, _ = fall(course, RADIUS, STANDARD, rest=2)
        speed = np.diff(places, axis=0) / EVERY
        energy = (speed**2).sum(1) / 2 + GRAVITY * (places[1:, 1] + places[:-1, 1]) / 2
        # A mean over a frame in which it bounces says too little; the highest so far may not be passed.
        assert energy.max() <= (course.speed**2) / 2 + GRAVITY * course.start[1] + 0.2
        assert (places[:, 0] > THICK + RADIUS - 0.05).all()
        assert (places[:, 0] < 10 - THICK - RADIUS + 0.05).all()


def test_every_ball_can_pass_every_funnel_and_between_sliders() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        course = draw_course(5, 3, 0.7, RADIUS, random)
        assert (course.walls[..., 1] < height(3)).sum() > 0
        funnels = course.walls[course.kinds == FUNNEL].reshape(-1, 2, 2, 2)
        opening = funnels[:, 1, 1, 0] - funnels[:, 0, 1, 0] - 2 * THICK
        assert (opening > 2 * RADIUS).all()
        assert (opening < 2.3 * RADIUS).all()
        sliders = course.walls[course.kinds == SLIDER]
        assert (sliders[..., 0].min() - 2 * THICK) > 2 * RADIUS
        assert len(funnels) >= 5  # those of the bottom row are all there
    lively = [draw_course(5, 3, 1.0, RADIUS, random).lively[-2:].any() for _ in range(40)]
    assert 0.2 < np.mean(lively) < 0.8


def parts(data: DomainData) -> list[Trajectories]:
    assert data.perturbed is not None
    return [data.training, data.validation, data.perturbed]


def test_psi_is_right_on_every_true_last_frame(board: FunnelBoard) -> None:
    for trajectories in parts(board.data):
        rows = torch.arange(len(trajectories))
        first = trajectories.at(rows, torch.zeros_like(rows))
        evidence = board.evidence(trajectories.at(rows, trajectories.lengths - 1), first)
        assert torch.equal(evidence.argmax(1), trajectories.labels)
        assert (evidence.max(1).values >= 2).all()
        assert (evidence.sum(1) == evidence.max(1).values).all()
        assert (board.evidence(first, first) == 0).all()


def test_every_frame_has_a_ball_and_moving_ones_a_trace(board: FunnelBoard) -> None:
    for trajectories in parts(board.data):
        red, green, blue = trajectories.frames.float().unbind(1)
        ball = (1 - red) * (1 - green) * blue
        assert (ball.sum((1, 2)) >= 2).all()
        trace = ((1 - red) * green * blue).sum((1, 2))
        assert float((trace > 0).float().mean()) > 0.5
        assert set(trajectories.frames.unique().tolist()) == {0, 1}


def test_perturbed_physics_changes_ways_and_keeps_most_labels(board: FunnelBoard) -> None:
    assert board.data.perturbed is not None
    same = board.data.perturbed.labels == board.data.training.labels
    assert float(same.float().mean()) > 0.5
    assert not torch.equal(board.data.perturbed.lengths, board.data.training.lengths)
    assert PERTURBED.lively < STANDARD.lively


def test_the_shortcut_is_low_and_in_the_record(board: FunnelBoard) -> None:
    assert board.shortcuts(board.data.training)["column of the start"] < 0.75
    assert "column of the start" in board.data.source


def test_the_same_seed_gives_the_same(board: FunnelBoard, tmp_path: Path) -> None:
    again = FunnelBoard(str(tmp_path), n_train=25, n_validation=10)
    assert torch.equal(again.data.training.frames, board.data.training.frames)
    assert len(board.data.fingerprint()) == len(again.data.fingerprint()) == 64
    assert board.data.fingerprint() != again.data.fingerprint()  # which has no perturbed part


@pytest.mark.parametrize(
    ("options", "message"),
    [({"columns": 1}, "columns"), ({"radius": 1.0}, "radius"), ({"present": 2.0}, "present")],
)
def test_what_makes_no_sense_is_refused(options: dict[str, float], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        FunnelBoard(str(tmp_path), **options)  # type: ignore[arg-type]


def test_boards_on_which_no_ball_ends_are_not_drawn_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(funnel_board, "MOST_BOARDS", 3)
    with pytest.raises(UserError, match=r"3 boards in a row.*dataset\.rows or a smaller dataset\.rest"):
        FunnelBoard(str(tmp_path), n_train=1, n_validation=1, rows=1, columns=2, rest=10**6)
