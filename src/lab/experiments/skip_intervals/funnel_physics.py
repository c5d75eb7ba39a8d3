"""The physics of a ball that falls through a board, computed by the engine pymunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ilc._extras import install_command
from ilc.errors import UserError
from lab.experiments.skip_intervals.funnel_course import COLUMN, FUNNEL, PLATFORM, THICK, Course

Floats = NDArray[np.float64]

GRAVITY = 10.0
"""The gravity in units per second squared (from the authors' tasks)."""
DT = 1 / 60
"""The duration of a step of the engine in seconds."""
FRAME_EVERY = 6
"""The number of steps per frame. A frame is a tenth of a second; the authors' tasks take every third step of
1/30."""
LONGEST = 1500
"""The number of steps after which a ball that has not arrived is given up. These are 25 seconds, as in the
authors' tasks."""


@dataclass(frozen=True)
class Bounciness:
    """The restitution of a ball's bounces: the share of its speed against the wall that it keeps.

    The larger of the ball's and the wall's value counts, as in the authors' engine.

    Attributes:
        ball: value of the ball; every bounce has at least this restitution.
        lively: value of a funnel that bounces much, which half of the funnels do, at random.
        dull: value of the other funnels.
    """

    ball: float
    lively: float
    dull: float


STANDARD = Bounciness(ball=0.2, lively=0.6, dull=0.02)
PERTURBED = Bounciness(ball=0.05, lively=0.02, dull=0.02)
"""The perturbed physics, with the values of the authors' tasks. The thesis says zero."""


def fall(course: Course, radius: float, bounciness: Bounciness, rest: int) -> tuple[Floats, int | None]:
    """Return the ball's place at every frame, ``[T, 2]``, and the platform on which it ends.

    The platform is None if the ball touches no platform in time, or more than one until the end.

    Args:
        course: the board.
        radius: radius of the ball.
        bounciness: restitution of ball and funnels.
        rest: number of frames after the first touch of a platform.

    Raises:
        UserError: pymunk is not installed.
    """
    try:
        import pymunk
    except ImportError as error:
        raise UserError(
            f"dataset=funnel_board needs pymunk, which is not installed: run {install_command('funnels')}"
        ) from error
    space = pymunk.Space()
    space.gravity = (0.0, -GRAVITY)
    ball = pymunk.Body(1.0, pymunk.moment_for_circle(1.0, 0.0, radius))
    ball.position = (float(course.start[0]), float(course.start[1]))
    ball.velocity = (course.speed, 0.0)
    disc = pymunk.Circle(ball, radius)
    disc.elasticity = 1.0  # The engine multiplies both values; with 1 here the wall's value decides.
    space.add(ball, disc)
    for wall, kind, lively in zip(course.walls.tolist(), course.kinds, course.lively, strict=True):
        segment = pymunk.Segment(space.static_body, tuple(wall[0]), tuple(wall[1]), THICK)
        own = bounciness.lively if lively else bounciness.dull
        segment.elasticity = max(bounciness.ball, own if kind == FUNNEL else 0.0)
        segment.friction = 0.0
        space.add(segment)
    platforms = course.walls[course.kinds == PLATFORM]
    floor = float(platforms[0, 0, 1]) + THICK + radius
    places, touched, left = [course.start], set(), None
    for step in range(1, LONGEST):
        space.step(DT)
        x, y = ball.position
        if y < floor + 0.02:
            touched.add(int(x // COLUMN))
            left = rest * FRAME_EVERY if left is None else left
        if step % FRAME_EVERY == 0:
            places.append(np.array([x, y]))
            if left is not None and left <= 0:
                break
        if left is not None:
            left -= 1
    one = len(touched) == 1 and left is not None and left <= 0
    return np.stack(places), touched.pop() if one else None
