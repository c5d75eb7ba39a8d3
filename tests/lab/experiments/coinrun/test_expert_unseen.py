"""The curve on unseen levels: random play first, then the policy every so many frames."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from torch import Tensor

from lab.experiments.coinrun.expert_unseen import LEVELS, UnseenLevels
from lab.experiments.coinrun.levels import EXPERT_TRAIN, UNSEEN
from lab.experiments.coinrun.play import random_policy

TWO = UNSEEN[:2]


def visited(folder: Path, frames: list[int], every: int = 100) -> list[tuple[str, int]]:
    """The rows' policies and frames after rollouts that begin at ``frames``."""
    asked: list[int] = []

    def policy(observed: Tensor) -> Tensor:
        asked.append(len(observed))
        return random_policy(observed)

    callback: Any = UnseenLevels(folder, "hard", every, lambda: policy, TWO)
    callback.model = SimpleNamespace(num_timesteps=frames[0])
    callback._on_training_start()
    for now in frames:
        callback.model.num_timesteps = now
        callback._on_rollout_start()
    if not (folder / "unseen.csv").exists():
        return []
    table = pd.read_csv(folder / "unseen.csv")
    assert (table["levels"] == len(TWO)).all()
    assert (table["mean_return"] == 10 * table["success_rate"]).all()
    assert bool(asked) == ("expert" in set(table["policy"]))
    return list(zip(table["policy"], table["frames"], strict=True))


def test_rows_come_at_the_first_rollout_that_is_due(tmp_path: Path) -> None:
    rows = visited(tmp_path, [0, 60, 120, 180, 240])
    assert rows == [("random play", 0), ("expert", 120), ("expert", 240)]
    # Continued from a checkpoint after 180 frames, what came later is measured again.
    assert visited(tmp_path, [180, 250])[2:] == [("expert", 250)]


def test_none_are_played_unless_asked_for(tmp_path: Path) -> None:
    assert visited(tmp_path, [0, 1000], every=0) == []


def test_the_curves_levels_are_neither_trained_on_nor_the_finished_experts() -> None:
    assert not set(LEVELS) & (set(UNSEEN[:1000]) | set(EXPERT_TRAIN[:1]))
    assert LEVELS.stop <= EXPERT_TRAIN.start
