"""procgen's game CoinRun, with several copies played at once."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilc.errors import UserError
from lab.experiments.coinrun.procgen_import import import_procgen

MODES = ("easy", "hard")
N_ACTIONS = 15
FRAME_SHAPE = (3, 64, 64)
LONGEST_EPISODE = 1000
"""The number of steps after which procgen ends an episode."""
END_EPISODE = -1
"""The action with which procgen ends an episode at once."""

_SEEDS = 2**31 - 1


def make_game(n: int, levels: range, mode: str, seed: int, threads: int = 0) -> Any:
    """Return a gym3 environment with ``n`` copies of the game; each episode plays a random one of ``levels``.

    Args:
        n: number of copies played at once.
        levels: consecutive level numbers.
        mode: procgen's distribution mode, ``easy`` or ``hard``.
        seed: seed of the order of the levels; any whole number from 0.
        threads: number of extra threads that play; with 0 the caller's thread plays.

    Raises:
        UserError: the mode is unknown, or there are no copies or no levels.
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
    """Return a gym3 environment with one copy for each of ``levels``; each copy plays only its own level.

    gym3 has one range of levels for all copies, but a saved state contains its range. The function therefore
    saves the state of a single game, writes each copy's level into that state, loads the states into the
    copies, and begins a new episode in each.

    Raises:
        UserError: an error of ``make_game``, or a level number is out of range.
    """
    if not all(0 <= level < _SEEDS for level in levels):
        raise UserError(f"CoinRun's levels are numbered from 0 to {_SEEDS - 1}, got {levels}")
    known = 1_234_567_890
    single = make_game(1, range(known, known + 1), mode, seed)
    state: bytes = single.callmethod("get_state")[0]
    single.close()
    before, found, after = state.partition(struct.pack("<ii", known, known + 1))
    assert found and found not in after, "procgen keeps its state in another form than 0.10.7"
    game = make_game(len(levels), range(1), mode, seed, threads)
    game.callmethod("set_state", [before + struct.pack("<ii", level, level + 1) + after for level in levels])
    game.act(np.full(len(levels), END_EPISODE))
    return game


def frames_of(game: Any) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.bool_]]:
    """Return what the copies show now.

    Returns:
        Rewards ``[n]`` of the step before, frames ``[n, 3, 64, 64]`` uint8, and whether each frame
        is the first of an episode ``[n]``. procgen starts the next episode by itself, so the reward
        that comes with a first frame belongs to the episode that has just ended.
    """
    rewards, observations, first = game.observe()
    return rewards, observations["rgb"].transpose(0, 3, 1, 2), first
