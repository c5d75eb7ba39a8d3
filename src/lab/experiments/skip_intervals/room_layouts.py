"""Layouts of the room runner: two ways through a grid of rooms that share no room."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ilc.errors import UserError

Ints = NDArray[np.int64]
STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0))
MOST_WAYS = 1000
"""The largest number of ways: a million pairs take seconds to check. Ways of 4 rooms number 80 on a grid of
side 3, and 456 on one of side 5."""


@cache
def layouts(side: int, rooms: int) -> tuple[Ints, NDArray[np.float64]]:
    """Return every pair of ways of ``rooms`` rooms each that share no room, and the pairs' probabilities.

    Args:
        side: side of the square grid, in rooms.
        rooms: number of rooms on each way, the first and the dead end included.

    Returns:
        Row and column of each room on the runner's own way and on the other way, ``[L, 2, rooms, 2]``, and
        the probability of each pair, ``[L]``. With these probabilities the runner's own dead end is the
        nearer one as often as the farther one, both from its first room and from its first door. Neither
        distance therefore predicts the label.

    Raises:
        UserError: there are too many ways to check, no two ways fit, or all pairs reveal the label.
    """
    ways: list[tuple[tuple[int, int], ...]] = []
    for row, column in product(range(side), repeat=2):
        ways += _ways((row, column), side, rooms)
        if len(ways) > MOST_WAYS:
            raise _too_many(side, rooms)
    pairs = [(own, other) for own in ways for other in ways if not set(own) & set(other)]
    if not pairs:
        raise UserError(
            f"two ways of dataset.rooms={rooms} do not fit on a grid of dataset.side={side}: take a larger "
            "dataset.side or fewer dataset.rooms"
        )
    plans = np.array(pairs, dtype=np.int64).reshape(-1, 2, rooms, 2)
    nearer = np.stack([_nearer(plans, plans[:, 0, 0] * 2), _nearer(plans, plans[:, 0, :2].sum(1))], 1)
    kinds, kind, counts = np.unique(nearer, axis=0, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    count_of = {tuple(row): n for row, n in zip(kinds.tolist(), counts.tolist(), strict=True)}
    opposite = np.array([count_of.get(tuple(-row), 0) for row in kinds])
    weights = np.minimum(1.0, opposite / counts)[kind]
    if not weights.any():
        raise UserError(
            f"on a grid of dataset.side={side} with dataset.rooms={rooms} the dead end nearest to the first "
            "door is always the runner's own, and this reveals the label: take dataset.rooms of at least 3"
        )
    return plans, weights / weights.sum()


def _too_many(side: int, rooms: int) -> UserError:
    return UserError(
        f"dataset.side={side} and dataset.rooms={rooms} allow more than {MOST_WAYS} ways, and every pair of "
        "ways has to be checked: take a smaller dataset.side or fewer dataset.rooms (such as 3 and 4, or 5 "
        "and 4)"
    )


def _ways(begin: tuple[int, int], side: int, rooms: int) -> list[tuple[tuple[int, int], ...]]:
    found: list[tuple[tuple[int, int], ...]] = [(begin,)]
    for _ in range(rooms - 1):
        found = [
            (*way, (way[-1][0] + down, way[-1][1] + right))
            for way in found
            for down, right in STEPS
            if 0 <= way[-1][0] + down < side
            and 0 <= way[-1][1] + right < side
            and (way[-1][0] + down, way[-1][1] + right) not in way
        ]
        if len(found) > MOST_WAYS:
            raise _too_many(side, rooms)
    return found


def _nearer(plans: Ints, doubled: Ints) -> Ints:
    """Return 1 where a place is nearer to its own dead end than to the other, -1 where farther, else 0.

    ``doubled`` holds the coordinates of the places times 2.
    """
    own, other = (((2 * plans[:, way, -1] - doubled) ** 2).sum(1) for way in (0, 1))
    return np.asarray(np.sign(other - own))
