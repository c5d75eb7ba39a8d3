"""PPO on CoinRun with stable-baselines3: an expert in a folder, continued after any interruption."""

from __future__ import annotations

import io
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from rich.console import Console
from torch import nn

from ilc.atomic import in_memory, write_atomically, write_text
from ilc.coinrun.levels import EXPERT_TRAIN
from ilc.coinrun.network import ExpertNetwork, convolutions
from ilc.coinrun.procgen_env import CoinRunVecEnv
from ilc.errors import UserError
from ilc.seeding import seed_for

from stable_baselines3 import PPO  # isort: skip
from stable_baselines3.common.callbacks import BaseCallback  # isort: skip
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # isort: skip
from stable_baselines3.common.vec_env import VecNormalize  # isort: skip


@dataclass(frozen=True)
class ExpertOptions:
    """The settings of one expert, from ``conf/expert``.

    Attributes:
        mode: procgen's distribution mode.
        frames: frames to play in all.
        n_games: games played at once.
        n_steps: steps per game between two updates.
        minibatches: parts that each update's frames are cut into.
        update_epochs: passes over them.
        lr, gamma, gae_lambda, entropy_bonus, clip_range: as usual in PPO.
        width, features: of the network.
        seed: decides network, levels and actions.
        checkpoint_every: frames between checkpoints.
        threads: CPU threads of the network; procgen plays in the same one.

    Raises:
        UserError: a number out of range.
    """

    mode: str
    frames: int
    n_games: int
    n_steps: int
    minibatches: int
    update_epochs: int
    lr: float
    gamma: float
    gae_lambda: float
    entropy_bonus: float
    clip_range: float
    width: int
    features: int
    seed: int
    checkpoint_every: int
    threads: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name not in ("mode", "seed", "entropy_bonus") and value <= 0:
                raise UserError(f"{name} must be above 0, got {value}")
        if self.seed < 0 or self.entropy_bonus < 0 or self.gamma > 1 or self.gae_lambda > 1:
            raise UserError("seed and entropy_bonus must be at least 0, gamma and gae_lambda at most 1")
        if self.n_games * self.n_steps % self.minibatches:
            raise UserError(
                f"minibatches must divide n_games * n_steps = {self.n_games * self.n_steps}, "
                f"got {self.minibatches}"
            )


def train_expert(options: ExpertOptions, folder: Path, device: torch.device) -> tuple[ExpertNetwork, int]:
    """Train, or continue, until ``options.frames`` are played; return the network and the frames.

    They are a little more than asked for, as updates are whole.

    Writes ``checkpoint.pt`` and ``curve.csv``: per update the frames so far and, of the episodes that
    ended since the row before, their number, mean return, success rate and length. Games start
    anew when an interrupted training continues, so it is not the same to the bit.

    Raises:
        UserError: the checkpoint is damaged or the folder not writable.
    """
    torch.set_num_threads(options.threads)
    games = CoinRunVecEnv(options.n_games, EXPERT_TRAIN, options.mode, seed_for(options.seed, "levels"))
    # The reward of 10 is divided by the returns' standard deviation, as in the procgen paper's code.
    environment = VecNormalize(games, norm_obs=False, gamma=options.gamma)
    model = PPO(
        "CnnPolicy",
        environment,
        learning_rate=options.lr,
        n_steps=options.n_steps,
        batch_size=options.n_games * options.n_steps // options.minibatches,
        n_epochs=options.update_epochs,
        gamma=options.gamma,
        gae_lambda=options.gae_lambda,
        clip_range=options.clip_range,
        ent_coef=options.entropy_bonus,
        policy_kwargs={
            "net_arch": [],
            "features_extractor_class": _Features,
            "features_extractor_kwargs": {"width": options.width, "features": options.features},
        },
        seed=None,
        device=device,
    )
    record = _Record(options, folder, environment)
    record.load(model)
    if model.num_timesteps < options.frames:
        model.learn(options.frames - model.num_timesteps, record, reset_num_timesteps=False)
        record.save()
    environment.close()
    return network_of(model.policy, options), int(model.num_timesteps)


def network_of(policy: nn.Module, options: ExpertOptions) -> ExpertNetwork:
    """The acting part of a policy of stable-baselines3 as a network of our own."""
    network = ExpertNetwork(options.width, options.features)
    state = policy.state_dict()
    kept = {
        key.replace("features_extractor.", "").replace("action_net.", "action."): value.cpu()
        for key, value in state.items()
        if key.startswith(("features_extractor.", "action_net."))
    }
    network.load_state_dict(kept)
    return network


class _Features(BaseFeaturesExtractor):
    """The convolutions, as stable-baselines3 wants them; it scales frames to [0, 1] itself."""

    def __init__(self, observation_space: Any, width: int, features: int) -> None:
        super().__init__(observation_space, features)
        self.convolutions = convolutions(width, features)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.convolutions(frames)
        return result


class _Record(BaseCallback):
    """Curve, checkpoints and a line of progress."""

    def __init__(self, options: ExpertOptions, folder: Path, environment: Any) -> None:
        super().__init__()
        self._options, self._folder, self._environment = options, folder, environment
        self._rows: list[dict[str, float]] = []
        self._episodes: list[tuple[float, int]] = []
        self._saved_at = 0
        self._console = Console()

    def load(self, model: Any) -> None:
        """Bring the model to the last checkpoint, if there is one."""
        torch.manual_seed(seed_for(self._options.seed, "expert"))
        path = self._folder / "checkpoint.pt"
        if not path.exists():
            # The networks were made before the seed was set; made again, they follow it.
            model.policy._build(model.lr_schedule)
            return
        try:
            state = torch.load(path, map_location=model.device, weights_only=True)
            model.policy.load_state_dict(state["policy"])
            model.policy.optimizer.load_state_dict(state["optimizer"])
        except Exception as error:
            raise UserError(
                f"{path} cannot be continued from ({type(error).__name__}): it is damaged or of another "
                f"network. Put back a copy, or remove {self._folder} to start over"
            ) from error
        model.num_timesteps = self._saved_at = state["frames"]
        returns = self._environment.ret_rms
        returns.mean, returns.var, returns.count = (np.float64(value) for value in state["reward_scale"])
        torch.manual_seed(seed_for(self._options.seed, f"expert after {model.num_timesteps} frames"))
        rows = pd.read_csv(self._folder / "curve.csv")
        self._rows = rows[rows["frames"] <= model.num_timesteps].to_dict("records")
        self._console.print(f"continuing after {model.num_timesteps:,} frames")

    def save(self) -> None:
        """Write the checkpoint: plain values and tensors only."""
        returns = self._environment.ret_rms
        state = {
            "policy": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "frames": self.model.num_timesteps,
            "reward_scale": [float(returns.mean), float(returns.var), float(returns.count)],
        }
        self._write_curve()
        content = in_memory(lambda file: torch.save(state, file))
        write_atomically(self._folder / "checkpoint.pt", lambda file: file.write(content))
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
        }
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
