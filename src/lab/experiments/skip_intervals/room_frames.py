"""The pictures of rooms, doors and the runner, drawn for all trajectories at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class RoomSizes:
    """The lengths of a grid of rooms, in pixels.

    Attributes:
        side: number of rooms on a side of the grid.
        room_size: side of a room.
        wall: thickness of a wall.
        agent: side of the runner, and width of a door.
    """

    side: int
    room_size: int
    wall: int
    agent: int

    @property
    def stride(self) -> int:
        """The distance from a room's corner to the next room's corner."""
        return self.room_size + self.wall

    @property
    def pixels(self) -> int:
        """The side of a frame."""
        return self.side * self.stride - self.wall


def floor_plans(
    ways: NDArray[np.int64], offsets: NDArray[np.int64], labels: NDArray[np.int64], sizes: RoomSizes
) -> Bytes:
    """Draw floor plans ``[N, 3, pixels, pixels]``.

    Rooms are white, walls are black, dead ends are red and blue, and doors are yellow.

    Args:
        ways: row and column of each room on both ways, ``[N, 2, rooms, 2]``.
        offsets: offsets of the doors from the corners of their rooms, ``[N, 2, rooms - 1]``.
        labels: the way that ends in the red room, 0 for the first and 1 for the second, ``[N]``.
        sizes: lengths in pixels.
    """
    stride, n = sizes.stride, len(ways)
    index = np.arange(sizes.pixels)
    free = index % stride < sizes.room_size
    maps = np.broadcast_to(free[:, None] & free, (n, 3, sizes.pixels, sizes.pixels)).astype(np.uint8)
    for w in (0, 1):
        low = ways[:, w, -1] * stride
        inside = _box(index, low, low + sizes.room_size)
        color = np.where((labels == w)[:, None], [1, 0, 0], [0, 0, 1]).astype(np.uint8)
        maps = np.where(inside[:, None], color[:, :, None, None], maps)
    for w in (0, 1):
        for k in range(ways.shape[2] - 1):
            step = ways[:, w, k + 1] - ways[:, w, k]
            corner = ways[:, w, k] * stride
            along = corner + offsets[:, w, k, None]
            # The door begins one length of the runner inside the room that is left, and ends with the wall.
            low = np.where(step > 0, corner + sizes.room_size - sizes.agent, corner - sizes.wall)
            low = np.where(step == 0, along, low)
            high = np.where(step == 0, along + sizes.agent, low + sizes.agent + sizes.wall)
            door = _box(index, low, high)
            maps = np.where(door[:, None], np.array([1, 1, 0], np.uint8)[:, None, None], maps)
    return maps


def with_runner(plans: Bytes, places: Floats, sizes: RoomSizes) -> Bytes:
    """Draw each plan with a green square at each of its places ``[N, T, 2]``.

    Returns:
        Frames ``[N, T, 3, pixels, pixels]``.
    """
    n, t = places.shape[:2]
    low = np.rint(places).astype(np.int64).clip(0, sizes.pixels - sizes.agent).reshape(n * t, 2)
    runner = _box(np.arange(sizes.pixels), low, low + sizes.agent).reshape(n, t, 1, *plans.shape[2:])
    green = np.array([0, 1, 0], np.uint8)[:, None, None]
    return np.where(runner, green, plans[:, None])


def _box(index: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return masks ``[N, pixels, pixels]`` of boxes.

    Row and column in a box are at least ``low`` and below ``high``, ``[N, 2]`` each.
    """
    inside = (index >= low[:, :, None]) & (index < high[:, :, None])
    return np.asarray(inside[:, 0, :, None] & inside[:, 1, None, :])
