"""Store frames of six CoinRun levels in either mode for figure 17, which is drawn without the game.

    python scripts/show_coinrun_levels.py

writes ``results/coinrun/levels.npz``: ``easy`` and ``hard``, uint8 ``[6, 3, 64, 64]``, and ``levels``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ilc.atomic import write_atomically
from ilc.coinrun.expert import Expert, load_expert
from ilc.coinrun.game import MODES, frames_of, make_pinned_game
from ilc.coinrun.levels import CLONING_TRAIN
from ilc.coinrun.play import draw_actions
from ilc.configuration.command_line import run_command

N_LEVELS = 6
STEPS = 20
RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Play each level for a while and keep what it shows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    path: Path = parser.parse_args().results / "coinrun" / "levels.npz"
    levels, expert = list(CLONING_TRAIN[:N_LEVELS]), load_expert()
    frames = {mode: frames_after(STEPS, levels, mode, expert) for mode in MODES}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: np.savez_compressed(file, levels=levels, **frames))
    print(path)


def frames_after(n_steps: int, levels: list[int], mode: str, expert: Expert) -> NDArray[np.uint8]:
    """What each level shows after the expert has played it for so many steps ``[n, 3, 64, 64]``."""
    random = np.random.default_rng(0)
    game = make_pinned_game(levels, mode, seed=0)
    for _ in range(n_steps):
        frames = torch.from_numpy(np.ascontiguousarray(frames_of(game)[1]))
        game.act(draw_actions(expert.network.distribution(frames), random))
    last = frames_of(game)[1].copy()
    game.close()
    return last


if __name__ == "__main__":
    run_command(main)
