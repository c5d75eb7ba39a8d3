"""The record of the expert's training: its curve, checkpoints to continue from, and a line of progress."""

from __future__ import annotations

import io
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from rich.console import Console

from ilc.errors import UserError
from lab.experiments.coinrun.expert_options import ExpertOptions
from lab.files.atomic import write_text
from lab.files.sealed import load_sealed, save_sealed
from lab.machine.seeding import seed_for

from stable_baselines3.common.callbacks import BaseCallback  # isort: skip


class ExpertRecord(BaseCallback):
    """A callback of PPO that keeps the record; ``load`` and ``save`` read and write the last checkpoint."""

    def __init__(self, options: ExpertOptions, folder: Path, environment: Any) -> None:
        super().__init__()
        self._options, self._folder, self._environment = options, folder, environment
        self._rows: list[dict[str, float]] = []
        self._episodes: list[tuple[float, int]] = []
        self._saved_at = 0
        self._last = time.monotonic()
        self._console = Console()

    def load(self, model: Any) -> None:
        """Load the last checkpoint into the model, if there is one."""
        torch.manual_seed(seed_for(self._options.seed, "expert"))
        path = self._folder / "checkpoint.pt"
        if not path.exists():
            # The networks were made before the seed was set. They are made again, so that they depend on it.
            model.policy._build(model.lr_schedule)
            return
        try:
            remedy = f"put back a copy, or remove {self._folder} to start over"
            state = load_sealed(path, remedy, needs_seal=True, map_location=model.device)
            model.policy.load_state_dict(state["policy"])
            model.policy.optimizer.load_state_dict(state["optimizer"])
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"training cannot continue from {path} ({type(error).__name__}): the file is damaged or "
                f"belongs to another network. Put back a copy, or remove {self._folder} to start over"
            ) from error
        model.num_timesteps = self._saved_at = state["frames"]
        returns = self._environment.ret_rms
        returns.mean, returns.var, returns.count = (np.float64(value) for value in state["reward_scale"])
        torch.manual_seed(seed_for(self._options.seed, f"expert after {model.num_timesteps} frames"))
        rows = pd.read_csv(self._folder / "curve.csv")
        self._rows = rows[rows["frames"] <= model.num_timesteps].to_dict("records")
        self._console.print(f"continuing after {model.num_timesteps:,} frames")

    def save(self) -> None:
        """Write a checkpoint that holds only plain values and tensors."""
        returns = self._environment.ret_rms
        state = {
            "policy": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "frames": self.model.num_timesteps,
            "reward_scale": [float(returns.mean), float(returns.var), float(returns.count)],
        }
        self._write_curve()
        save_sealed(self._folder / "checkpoint.pt", state)
        self._saved_at = self.model.num_timesteps

    def _on_step(self) -> bool:
        ended = [info["episode"] for info in self.locals["infos"] if "episode" in info]
        self._episodes += [(episode["r"], episode["l"]) for episode in ended]
        return True

    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps - self._saved_at >= self._options.checkpoint_every:
            self.save()

    def _on_rollout_end(self) -> None:
        frames = self.model.num_timesteps
        returns, lengths = np.array(self._episodes, dtype=float).reshape(-1, 2).T
        self._episodes = []
        some = len(returns) > 0
        row = {
            "frames": frames,
            "episodes": len(returns),
            "mean_return": float(returns.mean()) if some else math.nan,
            "success_rate": float((returns > 0).mean()) if some else math.nan,
            "mean_length": float(lengths.mean()) if some else math.nan,
            "wall_seconds": time.monotonic() - self._last,
        }
        self._last = time.monotonic()
        self._rows.append(row)
        self._write_curve()
        played = frames - self.model._num_timesteps_at_start
        seconds = (time.time_ns() - self.model.start_time) / 1e9
        left = seconds / played * (self._options.frames - frames)
        self._console.print(
            f"{frames:,} of {self._options.frames:,} frames  return {row['mean_return']:.2f}  "
            f"{played / seconds:.0f} frames/s  about {max(left, 0) / 60:.0f} min left",
            highlight=False,
        )

    def _write_curve(self) -> None:
        buffer = io.StringIO()
        pd.DataFrame(self._rows).to_csv(buffer, index=False, float_format="%.6g")
        write_text(self._folder / "curve.csv", buffer.getvalue())
