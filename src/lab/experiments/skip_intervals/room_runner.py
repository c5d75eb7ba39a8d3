"""The room runner: a runner goes from room to room, through doors, to a dead end (thesis, section 2.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ilc.errors import UserError
from lab.experiments.skip_intervals.domain import DomainData
from lab.experiments.skip_intervals.room_frames import Bytes, RoomSizes, floor_plans, with_runner
from lab.experiments.skip_intervals.room_layouts import layouts
from lab.experiments.skip_intervals.room_motion import motion, waypoints
from lab.experiments.skip_intervals.stored_trajectories import stored_trajectories
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.machine.seeding import seed_for

CHUNK = 100
"""The number of trajectories that are drawn at once."""


class RoomRunner:
    """The domain in which a runner ends in the red room (label 0) or in the blue room (label 1).

    A square grid of rooms holds two ways that share no room. On each way a door leads from every room to
    the next. The door protrudes into the room that is left, so that its direction is visible even if the
    runner stands in it. The last room of one way is red and that of the other is blue; a fair coin decides
    which. The runner follows one way: in each room it goes along the wall until it faces the door, then
    straight through. Its force is drawn again in each room and is not visible.

    Deviation: the grid is square, and pairs of ways are weighted so that the coloured room nearest to the
    runner, or to its first door, is the right one half of the time. With ``drag=1/dt`` and no noise the
    runner moves by whole pixels, which is the small scale. The thesis has noise on the acceleration and does
    not say its size.

    Args:
        data_dir: folder in which trajectories are kept, below ``skip_intervals/``.
        generation_seed: seed of the trajectories.
        n_train: number of trajectories to learn from.
        n_validation: number of trajectories held out.
        rooms: number of rooms on each way, the first and the dead end included.
        side: number of rooms on a side of the grid.
        room_size: side of a room in pixels.
        wall: thickness of a wall in pixels.
        agent: side of the runner, and width of the doors, in pixels.
        forces: forces that may pull the runner, in pixels per dt squared; one is drawn for each room.
        drag: drag that slows the runner, per dt.
        noise: standard deviation of the noise on the runner's acceleration.
        dt: duration of a step.
        frames_every: number of steps between two frames.
        rest: number of frames at the end in which the runner stands still.

    Raises:
        UserError: a number is out of range.
    """

    n_classes = 2

    def __init__(
        self,
        data_dir: str,
        generation_seed: int = 0,
        n_train: int = 3000,
        n_validation: int = 300,
        rooms: int = 4,
        side: int = 3,
        room_size: int = 6,
        wall: int = 1,
        agent: int = 2,
        forces: Sequence[float] = (1.0, 2.0),
        drag: float = 1.0,
        noise: float = 0.0,
        dt: float = 1.0,
        frames_every: int = 1,
        rest: int = 2,
    ) -> None:
        if min(n_train, n_validation, wall, agent, frames_every) < 1 or min(rest, noise) < 0:
            raise UserError(
                "dataset.n_train, n_validation, wall, agent and frames_every must be at least 1, rest and "
                f"noise at least 0, got {n_train}, {n_validation}, {wall}, {agent}, {frames_every}, {rest} "
                f"and {noise}"
            )
        if room_size < 3 * agent:
            raise UserError(f"dataset.room_size must be at least 3 * dataset.agent, got {room_size}")
        if not forces or min(forces) <= 0 or dt <= 0 or not 0 < drag * dt <= 1:
            raise UserError(
                "dataset.forces and dataset.dt must be above 0 and drag * dt in (0, 1], "
                f"got {list(forces)}, {dt} and drag={drag}"
            )
        if not 2 <= rooms <= side * side // 2:
            raise UserError(
                f"two ways of dataset.rooms={rooms} do not fit on a grid of dataset.side={side}: take a "
                "larger dataset.side or fewer dataset.rooms"
            )
        layouts(side, rooms)  # This call raises an error now if no layout fits.
        self.rooms, self.sizes = rooms, RoomSizes(side, room_size, wall, agent)
        self.forces, self.drag, self.noise, self.dt = list(forces), drag, noise, dt
        self.frames_every, self.rest = frames_every, rest
        # The trajectories depend on all these values and are stored under them.
        parameters = {
            "generation_seed": generation_seed,
            "n_train": n_train,
            "n_validation": n_validation,
            "rooms": rooms,
            "side": side,
            "room_size": room_size,
            "wall": wall,
            "agent": agent,
            "forces": self.forces,
            "drag": drag,
            "noise": noise,
            "dt": dt,
            "frames_every": frames_every,
            "rest": rest,
        }
        trajectories, sha256 = stored_trajectories(
            Path(data_dir) / "skip_intervals",
            "room_runner",
            parameters,
            lambda: self._made(n_train + n_validation, generation_seed),
        )
        validation = trajectories.between(n_train, n_train + n_validation)
        frequent = {"most frequent label": validation.share_of_most_frequent()}
        shortcuts = {**frequent, **self.shortcuts(validation)}
        words = ", ".join(f"{name} {100 * value:.1f} %" for name, value in shortcuts.items())
        self.data = DomainData(
            trajectories.between(0, n_train),
            validation,
            f"own room runner, {self.sizes.pixels} px, {n_train} trajectories (shortcuts: {words})",
            sha256,
            shortcuts,
        )

    def evidence(self, frames: Tensor, first: Tensor) -> Tensor:
        """Return the green above a quarter within the red and within the blue room of the first frame."""
        red, green, blue = frames.unbind(1)
        runner = green * (1 - red) * (1 - blue)
        runner = runner * (runner > 0.25)
        return torch.stack([(runner * room).sum((1, 2)) for room in _coloured(first)], 1)

    def shortcuts(self, trajectories: Trajectories) -> dict[str, float]:
        """Return the accuracies of guessing the coloured room nearest to the runner, or to its first door."""
        rows = torch.arange(len(trajectories))
        first = trajectories.at(rows, torch.zeros_like(rows))
        red, green, blue = first.unbind(1)
        runner = green * (1 - red) * (1 - blue)
        doors = red * green * (1 - blue)
        centres = [_centre(room) for room in _coloured(first)]
        here = _centre(runner)
        # Find the door that protrudes into the runner's room. A room with one wall has the size ``stride``.
        stride = self.sizes.stride
        room = (here / stride).long()
        index = torch.arange(self.sizes.pixels)
        inside = [(index // stride == room[:, axis, None]).float() for axis in (0, 1)]
        door = _centre(doors * inside[0][:, :, None] * inside[1][:, None, :])
        return {
            f"room nearest {name}": _share_right(place, centres, trajectories.labels)
            for name, place in (("the runner", here), ("the first door", door))
        }

    def _made(self, n: int, seed: int) -> Trajectories:
        random = np.random.default_rng(seed_for(seed, "room runner"))
        parts = [self._draw(min(CHUNK, n - begin), random) for begin in range(0, n, CHUNK)]
        frames, lengths, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
        counts = torch.from_numpy(lengths)
        return Trajectories(
            torch.from_numpy(frames), counts.cumsum(0) - counts, counts, torch.from_numpy(labels)
        )

    def _draw(
        self, n: int, random: np.random.Generator
    ) -> tuple[Bytes, NDArray[np.int64], NDArray[np.int64]]:
        """Draw the frames, lengths and labels of n trajectories."""
        plans, chances = layouts(self.sizes.side, self.rooms)
        ways = plans[random.choice(len(plans), n, p=chances)]
        deep = self.sizes.room_size - self.sizes.agent
        offsets = random.integers(1, deep, (n, 2, self.rooms - 1))
        labels = random.integers(0, 2, n)
        start = ways[:, 0, 0] * self.sizes.stride + random.integers(0, deep + 1, (n, 2))
        places, lengths = motion(
            waypoints(ways[:, 0], offsets[:, 0], start, self.sizes),
            start,
            random.choice(self.forces, (n, self.rooms)),
            self.drag,
            self.noise,
            self.dt,
            self.frames_every,
            self.rest,
            random,
        )
        frames = with_runner(floor_plans(ways, offsets, labels, self.sizes), places, self.sizes)
        real = np.arange(places.shape[1]) < lengths[:, None]
        return frames[real], lengths, labels


def _coloured(first: Tensor) -> tuple[Tensor, Tensor]:
    """Return masks of the red and of the blue room in true first frames, ``[N, h, w]`` each."""
    red, green, blue = first.unbind(1)
    return red * (1 - green) * (1 - blue), blue * (1 - green) * (1 - red)


def _centre(mask: Tensor) -> Tensor:
    """Return the row and the column of the centre of each mask, ``[N, 2]``."""
    index = torch.arange(mask.shape[1]).float()
    rows, columns = (mask.sum((2, 1)[axis]) @ index for axis in (0, 1))
    return torch.stack([rows, columns], 1) / mask.sum((1, 2))[:, None].clamp(min=1)


def _share_right(place: Tensor, centres: Sequence[Tensor], labels: Tensor) -> float:
    """Return the accuracy of guessing the nearest centre; a tie counts as half right."""
    distances = torch.stack([(place - centre).square().sum(1) for centre in centres], 1)
    right = distances.gather(1, labels[:, None]).squeeze(1)
    wrong = distances.gather(1, 1 - labels[:, None]).squeeze(1)
    return float(((right < wrong - 1e-4).float() + 0.5 * ((right - wrong).abs() <= 1e-4).float()).mean())
