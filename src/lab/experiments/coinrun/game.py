"""procgen's CoinRun, several copies at once."""

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

    gym3 has one range of levels for all copies. But a saved state carries its range: a state of a
    single game is saved, the range in it replaced for every copy, and each begins anew.

    Raises:
        UserError: as ``make_game``; a level number out of range.
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
    """What the copies show now.

    Returns:
        rewards ``[n]`` of the step before, frames ``[n, 3, 64, 64]`` uint8, and whether each frame
        is the first of an episode ``[n]``. procgen starts the next episode by itself: the reward
        beside a first frame belongs to the episode that ended.
    """
    rewards, observations, first = game.observe()
    return rewards, observations["rgb"].transpose(0, 3, 1, 2), first
