"""Frames of six CoinRun levels in either mode for figure 17, which is drawn without the game."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from lab.experiments.coinrun.expert import Expert, load_expert
from lab.experiments.coinrun.game import MODES, frames_of, make_pinned_game
from lab.experiments.coinrun.levels import CLONING_TRAIN
from lab.experiments.coinrun.play import draw_actions
from lab.experiments.measurement import Parts, Tables
from lab.files.atomic import in_memory

N_LEVELS = 6
STEPS = 20


def parts() -> Parts:
    """Return the part of ``coinrun/levels.npz``, which takes seconds.

    The file holds ``easy`` and ``hard``, uint8 ``[6, 3, 64, 64]``, and ``levels``.
    """
    return {"levels": _play}


def _play() -> Tables:
    """Play each level for a while and return its last frame."""
    levels, expert = list(CLONING_TRAIN[:N_LEVELS]), load_expert()
    frames = {mode: frames_after(STEPS, levels, mode, expert) for mode in MODES}
    content = in_memory(lambda file: np.savez_compressed(file, levels=levels, **frames))
    return {"coinrun/levels.npz": content}


def frames_after(n_steps: int, levels: list[int], mode: str, expert: Expert) -> NDArray[np.uint8]:
    """Return each level's frame ``[n, 3, 64, 64]`` after the expert has played this number of steps."""
    random = np.random.default_rng(0)
    game = make_pinned_game(levels, mode, seed=0)
    for _ in range(n_steps):
        frames = torch.from_numpy(np.ascontiguousarray(frames_of(game)[1]))
        game.act(draw_actions(expert.network.distribution(frames), random))
    last = frames_of(game)[1].copy()
    game.close()
    return last
