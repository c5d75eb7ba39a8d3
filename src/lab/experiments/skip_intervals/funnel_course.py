"""Random boards of funnels and sliders, as walls that a ball can bounce off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FUNNEL, SLIDER, FRAME, PLATFORM = range(4)
"""What a wall is a part of."""

PITCH = 1.8
"""Distance of rows, in units."""
FLOOR = 1.0
"""Height of the platforms."""
DIVIDERS = 1.0
"""Height of the walls between platforms."""
COLUMN = 2.0
"""Width of a column and of a platform."""
SHIFT = 0.1
"""The openings of funnels, and sliders, are moved by at most so much."""
THICK = 0.05
"""Half of a wall's thickness."""
DEPTH = 0.9
"""Height of a funnel."""
SLIDER_LENGTH = 0.3
"""Half of a slider."""
GAP = (2.09, 2.2)
"""Opening of a funnel, in radii of the ball (authors' tasks)."""
TILT = (np.pi / 24, np.pi / 5)
"""Angle of a slider to the horizontal, to either side (authors' tasks)."""


@dataclass(frozen=True)
class Course:
    """A board and how a ball enters it; lengths in units, y upwards.

    Attributes:
        walls: ends of each wall, ``[W, 2, 2]``.
        kinds: what each wall is, ``[W]``.
        lively: whether each wall is a part of a funnel that bounces much, ``[W]``.
        start: where the ball begins, ``[2]``.
        speed: horizontal, to the right.
    """

    walls: Floats
    kinds: NDArray[np.int64]
    lively: NDArray[np.bool_]
    start: Floats
    speed: float


def height(rows: int) -> float:
    """Of a board with so many rows of obstacles, in units."""
    return FLOOR + PITCH * (rows + 1.5)


def draw_course(
    columns: int, rows: int, present: float, radius: float, random: np.random.Generator
) -> Course:
    """A random board.

    Rows alternate between funnels and sliders, from a row of funnels at the bottom. All of those are there;
    other funnels are with the probability ``present``. Each bounces much or little by a fair coin, which
    cannot be seen.

    Args:
        columns: of funnels, and platforms.
        rows: of funnels and sliders.
        present: probability of a funnel.
        radius: of the ball.
        random: what draws.
    """
    width, top = columns * COLUMN, height(rows)
    walls: list[list[list[float]]] = []
    kinds: list[int] = []
    lively: list[bool] = []

    def add(kind: int, *segments: list[list[float]], bounces: bool = False) -> None:
        walls.extend(segments)
        kinds.extend([kind] * len(segments))
        lively.extend([bounces] * len(segments))

    add(FRAME, [[0, 0], [0, top]], [[width, 0], [width, top]])
    for column in range(columns):
        left = column * COLUMN
        add(PLATFORM, [[left, FLOOR], [left + COLUMN, FLOOR]])
        if column:
            add(FRAME, [[left, FLOOR], [left, FLOOR + DIVIDERS]])
    for row in range(rows):
        for column in range(columns):
            x, y = random.uniform(-SHIFT, SHIFT, 2)
            x, y = x + (column + 0.5) * COLUMN, y + FLOOR + PITCH * (row + 1.25)
            gap = radius * random.uniform(*GAP) / 2 + THICK
            tilt = random.uniform(*TILT) * random.choice([-1, 1])
            there, bounces = random.random() < present, bool(random.integers(2))
            if row % 2:
                across, up = SLIDER_LENGTH * np.cos(tilt), SLIDER_LENGTH * np.sin(tilt)
                add(SLIDER, [[x - across, y - up], [x + across, y + up]])
            elif row == 0 or there:
                # As wide as its column: between two rims a ball could come to rest.
                rims = column * COLUMN, (column + 1) * COLUMN
                sides = [[[rim, y + DEPTH], [x + s * gap, y]] for s, rim in zip((-1, 1), rims, strict=True)]
                add(FUNNEL, *sides, bounces=bounces)
    start = np.array([random.uniform(0.5, width - 0.5), top - 0.5])
    return Course(np.array(walls), np.array(kinds), np.array(lively), start, random.uniform(-1.5, 1.5))
