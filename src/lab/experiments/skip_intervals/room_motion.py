"""The motion of the runner from waypoint to waypoint, computed for all trajectories at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lab.experiments.skip_intervals.room_frames import RoomSizes

Floats = NDArray[np.float64]
LONGEST = 100_000
"""The number of steps after which a runner that has not arrived is given up."""


def waypoints(
    way: NDArray[np.int64], offsets: NDArray[np.int64], start: NDArray[np.int64], sizes: RoomSizes
) -> Floats:
    """Return waypoints ``[N, 2 (rooms - 1) + 1, 2]``: before each door, behind it, and inside the dead end.

    Args:
        way: row and column of each room, ``[N, rooms, 2]``.
        offsets: offsets of the doors from the corners of their rooms, ``[N, rooms - 1]``.
        start: start of the runner, ``[N, 2]``.
        sizes: lengths in pixels.
    """
    stride, deep = sizes.stride, sizes.room_size - sizes.agent
    here, points = start.astype(float), []
    for k in range(way.shape[1] - 1):
        step = way[:, k + 1] - way[:, k]
        across = step == 0  # the coordinate along the wall that the door is in
        here = np.where(across, way[:, k] * stride + offsets[:, k, None], here)
        points.append(here)
        behind = way[:, k + 1] * stride + np.where(step < 0, deep, 0)
        here = np.where(across, here, behind)
        points.append(here)
    points.append(np.where(across, here, way[:, -1] * stride + deep // 2))
    return np.stack(points, 1)


def motion(
    waypoints: Floats,
    start: NDArray[np.int64],
    forces: Floats,
    drag: float,
    noise: float,
    dt: float,
    frames_every: int,
    rest: int,
    random: np.random.Generator,
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the places of N runners at their frames, ``[N, T, 2]``, and their numbers of frames, ``[N]``.

    A force pulls a runner towards the next waypoint, and a drag slows it. A waypoint is reached when it is no
    farther away than the length of the step; the step then ends there. Each room has two waypoints.

    Args:
        waypoints: ``[N, W, 2]``, two for each room but the last, which has one.
        start: ``[N, 2]``.
        forces: force in each room, ``[N, rooms]``.
        drag: share of the velocity that is lost per unit of time.
        noise: standard deviation of the noise on the acceleration.
        dt: duration of a step.
        frames_every: number of steps per frame.
        rest: number of frames after the arrival.
        random: generator of the noise.
    """
    n, n_waypoints, _ = waypoints.shape
    each = np.arange(n)
    place, velocity = start.astype(float), np.zeros((n, 2))
    target = np.zeros(n, dtype=np.int64)
    arrived = np.full(n, -1)
    frames = [place]
    for step in range(1, LONGEST):
        for _ in range(2):  # the runner may already be at a waypoint
            way = waypoints[each, np.minimum(target, n_waypoints - 1)] - place
            target += (np.abs(way).max(1) < 1e-9) & (target < n_waypoints)
        way = waypoints[each, np.minimum(target, n_waypoints - 1)] - place
        distance = np.linalg.norm(way, axis=1, keepdims=True)
        force = forces[each, np.minimum(target // 2, forces.shape[1] - 1)][:, None]
        pull = force * way / np.maximum(distance, 1e-9)
        push = noise * random.standard_normal((n, 2)) if noise else 0.0
        velocity = velocity + dt * (pull - drag * velocity + push)
        length = np.linalg.norm(velocity, axis=1, keepdims=True) * dt
        passes = distance <= length
        done = (target >= n_waypoints)[:, None]
        place = np.where(done, place, np.where(passes, place + way, place + velocity * dt))
        target += passes[:, 0] & ~done[:, 0]
        arrived = np.where((target >= n_waypoints) & (arrived < 0), step, arrived)
        if step % frames_every == 0:
            frames.append(place)
        if (arrived >= 0).all() and step >= arrived.max() + (rest + 1) * frames_every:
            break
    lengths = -(-arrived // frames_every) + 1 + rest
    return np.stack(frames, 1)[:, : lengths.max()], lengths
