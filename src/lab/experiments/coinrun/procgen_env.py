"""CoinRun as a vector environment for stable-baselines3."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from lab.experiments.coinrun.game import (
    END_EPISODE,
    FRAME_SHAPE,
    LONGEST_EPISODE,
    N_ACTIONS,
    frames_of,
    make_game,
)
from lab.experiments.coinrun.procgen_import import import_stable_baselines3

import_stable_baselines3()

from stable_baselines3.common.vec_env import VecEnv  # noqa: E402


class CoinRunVecEnv(VecEnv):
    """``n`` games at once: frames ``[n, 3, 64, 64]`` uint8, 15 actions, and a reward of 10 for the coin.

    When a step ends an episode, its ``infos`` hold what ``Monitor`` and ``DummyVecEnv`` would give:
    ``episode`` (return ``r``, length ``l``, seconds ``t``), ``terminal_observation`` and
    ``TimeLimit.truncated``. They also hold ``is_success`` and ``level_seed``, the level just played.

    procgen begins the next episode within the same step and never draws the state in which the episode ended.
    ``terminal_observation`` is therefore the last frame that the ended episode showed, one step earlier. PPO
    uses it for episodes that are cut off after 1,000 steps, to estimate the return that they still had ahead.

    Args:
        n: number of games at once.
        levels: range of level numbers to draw from.
        mode: ``easy`` or ``hard``.
        seed: seed of the order of the levels.
        threads: number of extra threads that play.

    Raises:
        UserError: see ``make_game``.
    """

    def __init__(self, n: int, levels: range, mode: str, seed: int, threads: int = 0) -> None:
        self._game = make_game(n, levels, mode, seed, threads)
        self._began = time.monotonic()
        self._frames = frames_of(self._game)[1]
        self._returns = np.zeros(n)
        self._lengths = np.zeros(n, dtype=np.int64)
        self._actions = np.zeros(n, dtype=np.int32)
        self.render_mode = None
        super().__init__(n, spaces.Box(0, 255, FRAME_SHAPE, np.uint8), spaces.Discrete(N_ACTIONS))

    def reset(self) -> NDArray[np.uint8]:
        """Begin a new episode in every game and return the first frames."""
        if self._lengths.any():
            self._game.act(np.full(self.num_envs, END_EPISODE))
            self._frames = frames_of(self._game)[1]
        self._returns[:] = 0
        self._lengths[:] = 0
        return self._frames

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store one action per game ``[n]`` for the next ``step_wait``."""
        self._actions = np.asarray(actions)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the stored actions; return frames, rewards, ends and infos."""
        before = self._frames
        self._game.act(self._actions)
        rewards, self._frames, ended = frames_of(self._game)
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if ended.any():
            levels = self._game.get_info()
            for i in np.flatnonzero(ended):
                infos[i] = self._end_of_episode(i, before[i], int(levels[i]["prev_level_seed"]))
        return self._frames, rewards, ended, infos

    def _end_of_episode(self, i: int, last_frame: NDArray[np.uint8], level: int) -> dict[str, Any]:
        episode_return, length = float(self._returns[i]), int(self._lengths[i])
        self._returns[i], self._lengths[i] = 0, 0
        return {
            "episode": {"r": episode_return, "l": length, "t": time.monotonic() - self._began},
            "is_success": episode_return > 0,
            "level_seed": level,
            "terminal_observation": last_frame,
            "TimeLimit.truncated": length >= LONGEST_EPISODE and episode_return == 0,
        }

    def close(self) -> None:
        """Close the games."""
        self._game.close()

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return the attribute once per game; all games share one object."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Raise an error, because an attribute cannot be set for single games."""
        raise NotImplementedError("the games share one object: nothing can be set for one of them")

    def env_method(
        self, method_name: str, *arguments: Any, indices: int | Iterable[int] | None = None, **options: Any
    ) -> list[Any]:
        """Raise an error, because a method cannot be called for single games."""
        raise NotImplementedError("the games share one object: no method of one of them can be called")

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        """Return False for every game, because no game has a wrapper."""
        return [False for _ in self._get_indices(indices)]
