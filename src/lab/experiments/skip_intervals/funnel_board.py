"""The funnel board: a ball falls through funnels and over sliders to a platform (thesis, section 2.3.1)."""

from __future__ import annotations

import hashlib
import sys
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track
from torch import Tensor

from ilc.errors import UserError
from lab.experiments.skip_intervals.domain import DomainData
from lab.experiments.skip_intervals.funnel_course import (
    COLUMN,
    DIVIDERS,
    FLOOR,
    FRAME,
    THICK,
    Course,
    draw_course,
    height,
)
from lab.experiments.skip_intervals.funnel_physics import PERTURBED, STANDARD, Bounciness, fall
from lab.experiments.skip_intervals.stored_trajectories import stored_trajectories
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.machine.seeding import seed_for

Bytes = NDArray[np.uint8]
BLUE, CYAN, WHITE = (np.array(color, np.uint8)[:, None, None] for color in ((0, 0, 1), (0, 1, 1), (1, 1, 1)))

MOST_BOARDS = 200
"""The number of boards that are tried for one trajectory. Most boards of the default settings will do."""


class FunnelBoard:
    """A domain in which a ball falls onto a platform, which is the label (from 0, left to right).

    Walls are white and the ball is blue. Its place one frame before is cyan, so that its velocity is
    visible. Each funnel bounces much or little, which is not visible. A course is drawn again if the
    ball touches no platform in time, or more than one. Deviation: there are as many columns of funnels
    as platforms; the thesis has five platforms.

    Args:
        data_dir: folder in which trajectories are kept, below ``skip_intervals/``.
        generation_seed: seed of the trajectories.
        n_train: number of trajectories to learn from.
        n_validation: number of trajectories held out.
        columns: number of columns of funnels, and of platforms.
        rows: number of rows of funnels and sliders; the bottom row has funnels.
        present: probability that a funnel exists, for funnels above the bottom row.
        radius: radius of the ball, in units; a column is 2 units wide.
        pixels_per_unit: pixels per unit of length.
        rest: number of frames after the first touch of a platform.
        perturbed: whether to make training trajectories with perturbed physics too, on the same boards.

    Raises:
        UserError: a number is out of range, or pymunk is not installed.
    """

    def __init__(
        self,
        data_dir: str,
        generation_seed: int = 0,
        n_train: int = 2000,
        n_validation: int = 300,
        columns: int = 5,
        rows: int = 3,
        present: float = 0.7,
        radius: float = 0.25,
        pixels_per_unit: int = 4,
        rest: int = 2,
        perturbed: bool = False,
    ) -> None:
        if min(n_train, n_validation, rows, pixels_per_unit) < 1 or columns < 2 or rest < 0:
            raise UserError(
                "dataset.n_train, n_validation, rows and pixels_per_unit must be at least 1, columns at "
                f"least 2 and rest at least 0, got {n_train}, {n_validation}, {rows}, {pixels_per_unit}, "
                f"{columns} and {rest}"
            )
        if not 0 <= present <= 1 or not 0.1 <= radius <= 0.35:
            raise UserError(
                f"dataset.present must be in [0, 1] and radius in [0.1, 0.35], got {present} and {radius}"
            )
        self.columns, self.rows, self.present, self.radius = columns, rows, present, radius
        self.pixels_per_unit, self.rest, self.n_classes = pixels_per_unit, rest, columns
        self.n = n_train + n_validation
        self.shape = round(height(rows) * pixels_per_unit), round(columns * COLUMN * pixels_per_unit)
        own = {
            "generation_seed": generation_seed,
            "n": self.n,
            "columns": columns,
            "rows": rows,
            "present": present,
            "radius": radius,
            "pixels_per_unit": pixels_per_unit,
            "rest": rest,
        }
        folder = Path(data_dir) / "skip_intervals"
        make = partial(self._made, generation_seed)
        both, sha256 = stored_trajectories(folder, "funnel_board", own, partial(make, STANDARD))
        training, validation = both.between(0, n_train), both.between(n_train, self.n)
        frequent = {"most frequent label": validation.share_of_most_frequent()}
        shortcuts = {**frequent, **self.shortcuts(validation)}
        words = ", ".join(f"{name} {100 * value:.1f} %" for name, value in shortcuts.items())
        source = f"own funnel board, {self.shape[0]} x {self.shape[1]} px, {n_train} trajectories ({words})"
        other = None
        if perturbed:
            all_others, other_sha256 = stored_trajectories(
                folder, "funnel_board_perturbed", own, partial(make, PERTURBED)
            )
            other = all_others.between(0, n_train)
            sha256 = hashlib.sha256(f"{sha256}{other_sha256}".encode()).hexdigest()
        self.data = DomainData(training, validation, source, sha256, shortcuts, perturbed=other)

    def evidence(self, frames: Tensor, first: Tensor) -> Tensor:
        """Return the blue of at least .3 between the dividers above each platform."""
        red, green, blue = frames.unbind(1)
        ball = (1 - red) * (1 - green) * blue
        ball = ball * (ball >= 0.3)
        above = self.shape[0] - round((FLOOR + DIVIDERS) * self.pixels_per_unit)
        columns = round(COLUMN * self.pixels_per_unit)
        return ball[:, above:].sum(1).reshape(-1, self.columns, columns).sum(2)

    def shortcuts(self, trajectories: Trajectories) -> dict[str, float]:
        """Return the accuracy of guessing the platform below the place where the ball begins."""
        rows = torch.arange(len(trajectories))
        red, green, blue = trajectories.at(rows, torch.zeros_like(rows)).unbind(1)
        ball = ((1 - red) * (1 - green) * blue).sum(1)
        column = (ball @ torch.arange(self.shape[1]).float() + 0.5) / ball.sum(1)
        below = (column / (COLUMN * self.pixels_per_unit)).long().clamp(0, self.columns - 1)
        return {"column of the start": float((below == trajectories.labels).float().mean())}

    def _made(self, seed: int, bounciness: Bounciness) -> Trajectories:
        """Make the trajectories, each on the first drawn board on which the ball arrives.

        With other physics, the ball must arrive under standard physics too. The boards are then those of
        standard physics, except where the ball of the other physics does not arrive.
        """
        parts, lengths, labels = [], [], []
        for number in track(range(self.n), description="funnel board", disable=not sys.stdout.isatty()):
            random = np.random.default_rng([seed_for(seed, "funnel board"), number])
            platform = None
            for _ in range(MOST_BOARDS):
                course = draw_course(self.columns, self.rows, self.present, self.radius, random)
                places, platform = fall(course, self.radius, STANDARD, self.rest)
                if bounciness != STANDARD and platform is not None:
                    places, platform = fall(course, self.radius, bounciness, self.rest)
                if platform is not None:
                    break
            else:
                raise UserError(
                    f"the ball ended on no platform, or on two, on {MOST_BOARDS} boards in a row: take fewer "
                    f"dataset.rows or a smaller dataset.rest, got {self.rows} and {self.rest}"
                )
            frames = self._frames(course, places)
            parts.append(frames)
            lengths.append(len(frames))
            labels.append(platform)
        counts = torch.tensor(lengths)
        return Trajectories(
            torch.from_numpy(np.concatenate(parts)), counts.cumsum(0) - counts, counts, torch.tensor(labels)
        )

    def _frames(self, course: Course, places: NDArray[np.float64]) -> Bytes:
        """Draw frames ``[T - 1, 3, h, w]``, one for each place except the first.

        Each frame has a trace of the place before.
        """
        height_, width = self.shape
        x = (np.arange(width) + 0.5) / self.pixels_per_unit
        y = (height_ - np.arange(height_) - 0.5) / self.pixels_per_unit
        grid = np.stack(np.meshgrid(x, y), -1)
        walls = course.walls[(course.kinds != FRAME) | (course.walls[:, :, 0].max(1) < width)]
        thick = max(THICK, 0.5 / self.pixels_per_unit)
        board = (_distances(grid, walls) <= thick).any(0)
        board |= grid[..., 1] < FLOOR
        ball = np.linalg.norm(grid - places[:, None, None], axis=-1) <= self.radius + 0.02
        frames = np.where(board, WHITE, np.zeros_like(WHITE))[None]
        frames = np.where(ball[:-1, None], CYAN, frames)
        return np.where(ball[1:, None], BLUE, frames).astype(np.uint8)


def _distances(points: NDArray[np.float64], walls: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances ``[W, h, w]`` of every point ``[h, w, 2]`` to every wall ``[W, 2, 2]``."""
    begin, along = walls[:, None, None, 0], (walls[:, 1] - walls[:, 0])[:, None, None]
    share = ((points - begin) * along).sum(-1) / (along**2).sum(-1)
    nearest = begin + share.clip(0, 1)[..., None] * along
    return np.asarray(np.linalg.norm(points - nearest, axis=-1))
