"""The table ``unseen.csv``: the success of the expert in training, and of random play, on unseen levels."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from lab.experiments.coinrun.levels import UNSEEN
from lab.experiments.coinrun.play import Policy, random_policy, success_on
from lab.files.atomic import write_text

from stable_baselines3.common.callbacks import BaseCallback  # isort: skip

LEVELS = UNSEEN[1000:1300]
"""The levels of this table. The finished expert is measured on others, the first 1,000 of ``UNSEEN``."""


class UnseenLevels(BaseCallback):
    """A callback of PPO that writes the table of policy, frames, levels, success rate and mean return.

    The first row is random play, with 0 frames.

    Args:
        folder: folder of the run.
        mode: procgen's distribution mode.
        every: number of frames between rows; 0 for no rows.
        policy: function that returns the current policy.
        levels: levels that are played once each, the same ones for every row.
    """

    def __init__(
        self, folder: Path, mode: str, every: int, policy: Callable[[], Policy], levels: range = LEVELS
    ) -> None:
        super().__init__()
        self._path = folder / "unseen.csv"
        self._mode, self._every, self._policy, self._levels = mode, every, policy, levels
        self._rows: list[dict[Hashable, Any]] = []

    def _on_training_start(self) -> None:
        if self._path.exists():
            rows = pd.read_csv(self._path).to_dict("records")
            # Rows that are newer than the checkpoint are dropped and measured again.
            self._rows = [row for row in rows if row["frames"] <= self.model.num_timesteps]

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        frames = self.model.num_timesteps
        if not self._every or (self._rows and frames < self._rows[-1]["frames"] + self._every):
            return
        self._rows.append(
            self._row("expert", frames, self._policy())
            if self._rows
            else self._row("random play", 0, random_policy)
        )
        buffer = io.StringIO()
        pd.DataFrame(self._rows).to_csv(buffer, index=False, float_format="%.6g")
        write_text(self._path, buffer.getvalue())

    def _row(self, name: str, frames: int, policy: Policy) -> dict[Hashable, Any]:
        found = success_on(policy, self._levels, self._mode)
        return {
            "policy": name,
            "frames": frames,
            "levels": len(self._levels),
            "success_rate": found.success_rate,
            "mean_return": found.mean_return,
        }
