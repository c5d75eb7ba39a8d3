"""How the runner moves from waypoint to waypoint; all trajectories at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LONGEST = 100_000
"""Steps after which a runner that has not arrived is given up."""


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
    """Places of N runners at their frames, ``[N, T, 2]``, and how many frames each has, ``[N]``.

    A force pulls towards the next waypoint along the axes, against a drag. A waypoint is reached by passing it
    within a step, which ends at it, or by coming as near as a step is long. Two waypoints belong to each room.

    Args:
        waypoints: ``[N, W, 2]``, two for each room but the last, which has one.
        start: ``[N, 2]``.
        forces: in each room, ``[N, rooms]``.
        drag: share of the velocity that is lost per unit of time.
        noise: standard deviation of the noise on the acceleration.
        dt: duration of a step.
        frames_every: steps per frame.
        rest: frames after the arrival.
        random: for the noise.
    """
    n, n_waypoints, _ = waypoints.shape
    each = np.arange(n)
    place, velocity = start.astype(float), np.zeros((n, 2))
    target = np.zeros(n, dtype=np.int64)
    arrived = np.full(n, -1)
    frames = [place]
    for step in range(1, LONGEST):
        for _ in range(2):  # a waypoint may be where the runner is already
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
