"""Random boards of funnels and sliders, as walls that a ball can bounce off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FUNNEL, SLIDER, FRAME, PLATFORM = range(4)
"""The kinds of things of which a wall is a part."""

PITCH = 1.8
"""The distance of rows, in units."""
FLOOR = 1.0
"""The height of the platforms."""
DIVIDERS = 1.0
"""The height of the walls between platforms."""
COLUMN = 2.0
"""The width of a column and of a platform."""
SHIFT = 0.1
"""The largest random shift of sliders and of the openings of funnels."""
THICK = 0.05
"""Half of a wall's thickness."""
DEPTH = 0.9
"""Height of a funnel."""
SLIDER_LENGTH = 0.3
"""Half of a slider's length."""
GAP = (2.09, 2.2)
"""The range of a funnel's opening, in radii of the ball (from the authors' tasks)."""
TILT = (np.pi / 24, np.pi / 5)
"""The range of a slider's angle to the horizontal, on either side (from the authors' tasks)."""


@dataclass(frozen=True)
class Course:
    """A board and the start of a ball on it; lengths are in units, and y points upwards.

    Attributes:
        walls: ends of each wall, ``[W, 2, 2]``.
        kinds: kind of each wall, ``[W]``.
        lively: whether each wall is a part of a funnel that bounces much, ``[W]``.
        start: place where the ball begins, ``[2]``.
        speed: horizontal speed of the ball at the start, to the right.
    """

    walls: Floats
    kinds: NDArray[np.int64]
    lively: NDArray[np.bool_]
    start: Floats
    speed: float


def height(rows: int) -> float:
    """Return the height of a board with this number of rows of obstacles, in units."""
    return FLOOR + PITCH * (rows + 1.5)


def draw_course(
    columns: int, rows: int, present: float, radius: float, random: np.random.Generator
) -> Course:
    """Draw a random board.

    Rows alternate between funnels and sliders, and the bottom row has funnels. All funnels of the bottom row
    exist; each other funnel exists with the probability ``present``. A fair coin decides whether a funnel
    bounces much or little, which is not visible.

    Args:
        columns: number of columns of funnels, and of platforms.
        rows: number of rows of funnels and sliders.
        present: probability of a funnel.
        radius: radius of the ball.
        random: generator of the random numbers.
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
                # A funnel is as wide as its column, because a ball could come to rest between two rims.
                rims = column * COLUMN, (column + 1) * COLUMN
                sides = [[[rim, y + DEPTH], [x + s * gap, y]] for s, rim in zip((-1, 1), rims, strict=True)]
                add(FUNNEL, *sides, bounces=bounces)
    start = np.array([random.uniform(0.5, width - 0.5), top - 0.5])
    return Course(np.array(walls), np.array(kinds), np.array(lively), start, random.uniform(-1.5, 1.5))
