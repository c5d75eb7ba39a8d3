"""Rooms: the label is what the last frame shows, and shortcuts do not tell it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ilc.errors import UserError
from lab.experiments.skip_intervals.room_layouts import layouts
from lab.experiments.skip_intervals.room_runner import RoomRunner
from lab.files.sealed import save_sealed

SMALL = {"n_train": 60, "n_validation": 60}
NOISY = {
    "room_size": 20,
    "wall": 2,
    "agent": 3,
    "forces": [40.0, 14.0],
    "drag": 5.0,
    "noise": 10.0,
    "dt": 0.1,
    "frames_every": 3,
    "rest": 6,
    "n_train": 10,
    "n_validation": 10,
}


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> RoomRunner:
    return RoomRunner(str(tmp_path_factory.mktemp("data")), n_train=300, n_validation=300)


def test_ways_are_of_neighbours_and_do_not_meet() -> None:
    plans, chances = layouts(3, 4)
    steps = (plans[:, :, 1:] - plans[:, :, :-1]).__abs__().sum(-1)
    assert (steps == 1).all()
    for own, other in plans.tolist():
        visited = [tuple(room) for room in own + other]
        assert len(set(visited)) == 8
    assert chances.sum() == pytest.approx(1)
    # The dead end nearest to the first room is the right one in half of the plans, by their chances.
    distance = ((plans[:, :, -1] - plans[:, None, 0, 0]) ** 2).sum(-1)
    assert chances[distance[:, 0] < distance[:, 1]].sum() == pytest.approx(
        chances[distance[:, 0] > distance[:, 1]].sum()
    )


@pytest.mark.parametrize("options", [SMALL, NOISY], ids=["small", "noisy"])
def test_psi_is_right_on_every_true_last_frame(options: dict[str, object], tmp_path: Path) -> None:
    rooms = RoomRunner(str(tmp_path), **options)  # type: ignore[arg-type]
    for trajectories in (rooms.data.training, rooms.data.validation):
        rows = torch.arange(len(trajectories))
        first = trajectories.at(rows, torch.zeros_like(rows))
        evidence = rooms.evidence(trajectories.at(rows, trajectories.lengths - 1), first)
        assert torch.equal(evidence.argmax(1), trajectories.labels)
        assert (evidence.sum(1) == rooms.sizes.agent**2).all()
        assert (rooms.evidence(first, first) == 0).all()


def test_the_runner_is_whole_in_every_frame_and_moves_by_whole_pixels(rooms: RoomRunner) -> None:
    trajectories = rooms.data.validation
    red, green, blue = trajectories.frames.float().unbind(1)
    runner = green * (1 - red) * (1 - blue)
    assert (runner.sum((1, 2)) == 4).all()
    rows, columns = (runner.sum(axis) @ torch.arange(20.0) / 4 for axis in (2, 1))
    for begin, length in zip(trajectories.begins, trajectories.lengths, strict=True):
        own = slice(int(begin), int(begin + length))
        moved = (rows[own].diff().abs() + columns[own].diff().abs())[:-2]
        assert set(moved.tolist()) <= {1.0, 2.0}  # rest has not begun, and it turns at right angles
        assert (rows[own].diff()[-2:] == 0).all()


def test_a_door_shows_its_direction_whoever_stands_in_it(rooms: RoomRunner) -> None:
    # Doors are as wide as the runner and longer, so that no frame hides one whole: six of them in each.
    for frame in rooms.data.validation.frames[::37].float():
        red, green, blue = frame
        yellow = red * green * (1 - blue)
        assert int(yellow.sum()) >= 6 * 6 - 4


def test_shortcuts_are_low_and_in_the_record(rooms: RoomRunner) -> None:
    both = rooms.shortcuts(rooms.data.training)
    for value in both.values():
        assert 0.38 < value < 0.62  # four standard errors
    record = {**rooms.data.shortcuts}
    ones = float(rooms.data.validation.labels.float().mean())
    assert record.pop("most frequent label") == pytest.approx(max(ones, 1 - ones))
    assert record == rooms.shortcuts(rooms.data.validation)
    assert "room nearest the first door" in rooms.data.source
    assert 0.38 < float(rooms.data.training.labels.float().mean()) < 0.62


def test_shortcuts_find_what_they_are_called(rooms: RoomRunner) -> None:
    trajectories = rooms.data.validation
    rows = torch.arange(len(trajectories))
    # Begin with the last frame: the runner stands in the right room.
    shifted = trajectories.between(0, len(rows))
    frames = shifted.frames.clone()
    frames[shifted.begins] = frames[shifted.begins + shifted.lengths - 1]
    moved = type(shifted)(frames, shifted.begins, shifted.lengths, shifted.labels)
    red, green, blue = trajectories.at(rows, 0 * rows).unbind(1)
    assert float((green * (1 - red) * (1 - blue)).sum()) == 4 * len(rows)
    # Psi's rooms are those of the first frame, which the runner now covers a part of.
    assert rooms.shortcuts(moved)["room nearest the runner"] > 0.99


def test_the_same_seed_gives_the_same_and_another_gives_others(tmp_path: Path) -> None:
    first = RoomRunner(str(tmp_path / "a"), **SMALL)
    again = RoomRunner(str(tmp_path / "b"), **SMALL)
    kept = RoomRunner(str(tmp_path / "a"), **SMALL)
    other = RoomRunner(str(tmp_path / "a"), generation_seed=1, **SMALL)
    assert first.data.fingerprint() == again.data.fingerprint() == kept.data.fingerprint()
    assert torch.equal(first.data.training.frames, kept.data.training.frames)
    assert first.data.fingerprint() != other.data.fingerprint()


def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    RoomRunner(str(tmp_path), **SMALL)
    (path,) = (tmp_path / "skip_intervals").glob("*.pt")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match=r"damaged.*remove .* and it is made again"):
        RoomRunner(str(tmp_path), **SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_train": 0}, "at least 1"),
        ({"room_size": 5}, "room_size must be"),
        ({"drag": 2.0}, "drag"),
        ({"forces": []}, "forces"),
        ({"rooms": 5}, "do not fit"),
        ({"rooms": 4, "side": 2}, "do not fit"),
        ({"rooms": 1}, "do not fit"),
        *(({"rooms": 2, "side": side}, "rooms of at least 3") for side in (2, 3, 5)),
        *(
            ({"side": side, "rooms": rooms}, "more than 1000 ways")
            for side, rooms in ((50, 4), (5, 12), (50, 1250))
        ),
        ({"side": 10**6, "rooms": 4}, "more than 1000 ways"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        RoomRunner(str(tmp_path), **options)  # type: ignore[arg-type]


def without_a_hash(path: Path) -> None:
    torch.save(torch.load(path, weights_only=True), path)


def of_other_parameters(path: Path) -> None:
    save_sealed(path, {**torch.load(path, weights_only=True), "parameters": "others"})


def lacking_labels(path: Path) -> None:
    state = torch.load(path, weights_only=True)
    save_sealed(path, {**state, "labels": state["labels"][:-1]})


def something_else(path: Path) -> None:
    save_sealed(path, {"weights": torch.ones(3)})


@pytest.mark.parametrize("put", [without_a_hash, of_other_parameters, lacking_labels, something_else])
def test_what_was_not_made_here_is_made_anew(
    put: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"n_train": 10, "n_validation": 10}
    first = RoomRunner(str(tmp_path), **sizes)
    (path,) = (tmp_path / "skip_intervals").glob("*.pt")
    content = path.read_bytes()
    put(path)
    capsys.readouterr()
    assert RoomRunner(str(tmp_path), **sizes).data.fingerprint() == first.data.fingerprint()
    assert "is made again" in capsys.readouterr().out
    assert path.read_bytes() == content
