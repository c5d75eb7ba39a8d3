"""A wrapper that cuts frames into patches once, when they are played, and not again in each pass of PPO."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from lab.experiments.coinrun.network import patches

from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper  # isort: skip


class PatchVecEnv(VecEnvWrapper):
    """The wrapped games with ``patches`` ``[n, 256, 48]`` uint8 as observations."""

    def __init__(self, games: VecEnv) -> None:
        super().__init__(games, spaces.Box(0, 255, (256, 48), np.uint8))

    def reset(self) -> NDArray[np.uint8]:
        """Begin a new episode in every game and return the first patches."""
        frames = self.venv.reset()
        assert isinstance(frames, np.ndarray)
        return _cut(frames)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play one step; return patches, rewards, ends and infos (with patches as terminal observations)."""
        frames, rewards, ended, infos = self.venv.step_wait()
        assert isinstance(frames, np.ndarray)
        for info in infos:
            if "terminal_observation" in info:
                info["terminal_observation"] = _cut(info["terminal_observation"][None])[0]
        return _cut(frames), rewards, ended, infos


def _cut(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    cut: NDArray[np.uint8] = patches(torch.from_numpy(frames)).numpy()
    return cut
