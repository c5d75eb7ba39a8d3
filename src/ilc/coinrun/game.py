"""procgen's CoinRun, several copies at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilc.coinrun.procgen_import import import_procgen
from ilc.errors import UserError

MODES = ("easy", "hard")
N_ACTIONS = 15
FRAME_SHAPE = (3, 64, 64)
LONGEST_EPISODE = 1000
"""Steps after which procgen ends an episode."""
END_EPISODE = -1
"""The action with which procgen ends an episode at once."""

_SEEDS = 2**31 - 1


def make_game(n: int, levels: range, mode: str, seed: int, threads: int = 0) -> Any:
    """A gym3 environment with ``n`` copies of the game, each episode on a random one of ``levels``.

    Args:
        n: copies played at once.
        levels: consecutive level numbers.
        mode: procgen's distribution mode, ``easy`` or ``hard``.
        seed: decides which level comes when; any whole number from 0.
        threads: extra threads that play; 0 plays in the caller's.

    Raises:
        UserError: an unknown mode, no copies or no levels.
    """
    if mode not in MODES:
        raise UserError(f"the distribution mode must be one of {', '.join(MODES)}, got {mode!r}")
    if n < 1 or len(levels) < 1 or levels.step != 1 or levels.start < 0 or levels.stop > _SEEDS:
        raise UserError(f"CoinRun needs at least one copy and a range of levels from 0, got {n} and {levels}")
    return import_procgen().ProcgenGym3Env(
        num=n,
        env_name="coinrun",
        distribution_mode=mode,
        start_level=levels.start,
        num_levels=len(levels),
        rand_seed=seed % _SEEDS,
        num_threads=threads,
    )


def make_pinned_game(levels: list[int], mode: str, seed: int, threads: int = 0) -> Any:
    """A gym3 environment with one copy for each of ``levels``, which plays that level again and again.

    gym3 has one range of levels for all copies. But a saved state carries its range, so each copy
    is given the state of a game of its own that knows a single level. Copies of the same level
    differ by the actions taken alone.

    Raises:
        UserError: as ``make_game``.
    """
    states = {level: _first_state(level, mode, seed) for level in dict.fromkeys(levels)}
    game = make_game(len(levels), range(1), mode, seed, threads)
    game.callmethod("set_state", [states[level] for level in levels])
    return game


def _first_state(level: int, mode: str, seed: int) -> bytes:
    single = make_game(1, range(level, level + 1), mode, seed)
    state: bytes = single.callmethod("get_state")[0]
    single.close()
    return state


def frames_of(game: Any) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.bool_]]:
    """What the copies show now.

    Returns:
        rewards ``[n]`` of the step before, frames ``[n, 3, 64, 64]`` uint8, and whether each frame
        is the first of an episode ``[n]``. procgen starts the next episode by itself: the reward
        beside a first frame belongs to the episode that ended.
    """
    rewards, observations, first = game.observe()
    return rewards, observations["rgb"].transpose(0, 3, 1, 2), first
