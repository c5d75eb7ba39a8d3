"""Training of the expert with PPO from stable-baselines3; an interrupted training can be continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from lab.experiments.coinrun.expert_options import ExpertOptions
from lab.experiments.coinrun.expert_patches import PatchVecEnv
from lab.experiments.coinrun.expert_record import ExpertRecord
from lab.experiments.coinrun.expert_unseen import UnseenLevels
from lab.experiments.coinrun.levels import EXPERT_TRAIN
from lab.experiments.coinrun.network import ExpertNetwork, convolutions, image_of
from lab.experiments.coinrun.procgen_env import CoinRunVecEnv
from lab.machine.seeding import seed_for

from stable_baselines3 import PPO  # isort: skip
from stable_baselines3.common.logger import Logger  # isort: skip
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # isort: skip
from stable_baselines3.common.vec_env import VecEnv, VecNormalize  # isort: skip


def train_expert(options: ExpertOptions, folder: Path, device: torch.device) -> tuple[ExpertNetwork, int]:
    """Train the expert until ``options.frames`` are played; return the network and the frames played.

    This number is a little higher than ``options.frames``, because the last update is always completed. A
    training that was interrupted continues from its checkpoint. The games then begin again, so the result is
    not bit for bit that of a training without interruption.

    The function writes ``checkpoint.pt``, ``unseen.csv`` (see ``UnseenLevels``) and ``curve.csv``. The curve
    has one row per update: the frames so far; the number, mean return, success rate and mean length of the
    episodes that ended since the row before; and the seconds since the row before, which are missing in rows
    older than that column.

    Raises:
        UserError: the checkpoint is damaged, or the folder cannot be written to.
    """
    torch.set_num_threads(options.threads)
    games: VecEnv = CoinRunVecEnv(
        options.n_games, EXPERT_TRAIN, options.mode, seed_for(options.seed, "levels")
    )
    if options.blocks:
        games = PatchVecEnv(games)
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
        policy_kwargs=policy_settings(options),
        seed=None,
        device=device,
    )
    # Without this logger, stable-baselines3 would make a temporary folder per call.
    model.set_logger(Logger(None, []))
    record = ExpertRecord(options, folder, environment)
    record.load(model)
    unseen = UnseenLevels(
        folder,
        options.mode,
        options.evaluate_every,
        lambda: network_of(model.policy, options).distribution,
    )
    if model.num_timesteps < options.frames:
        model.learn(options.frames - model.num_timesteps, [record, unseen], reset_num_timesteps=False)
        record.save()
    environment.close()
    return network_of(model.policy, options), int(model.num_timesteps)


def policy_settings(options: ExpertOptions) -> dict[str, Any]:
    """Return the ``policy_kwargs`` with which stable-baselines3's ``CnnPolicy`` uses our network."""
    return {
        "net_arch": [],
        "normalize_images": False,  # The network divides by 255 in its own precision.
        "features_extractor_class": _Features,
        "features_extractor_kwargs": {
            "width": options.width,
            "features": options.features,
            "blocks": options.blocks,
            "bfloat16": options.bfloat16,
        },
    }


def network_of(policy: nn.Module, options: ExpertOptions) -> ExpertNetwork:
    """Return the part of a stable-baselines3 policy that chooses actions, as an ``ExpertNetwork``."""
    network = ExpertNetwork(options.width, options.features, options.blocks)
    state = policy.state_dict()
    kept = {
        key.replace("features_extractor.", "").replace("action_net.", "action."): value.cpu()
        for key, value in state.items()
        if key.startswith(("features_extractor.", "action_net."))
    }
    network.load_state_dict(kept)
    return network


class _Features(BaseFeaturesExtractor):
    """The convolutions as a features extractor of stable-baselines3, for frames or patches from 0 to 255."""

    def __init__(
        self, observation_space: Any, width: int, features: int, blocks: int, bfloat16: bool
    ) -> None:
        super().__init__(observation_space, features)
        self.convolutions = convolutions(width, features, blocks)
        self._bfloat16, self._of_patches = bfloat16, blocks > 0

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        frames = image_of(observations) if self._of_patches else observations
        result: torch.Tensor
        if not self._bfloat16:
            result = self.convolutions(frames / 255.0)
            return result
        # oneDNN's fast kernels need the memory format "channels last".
        pixels = frames.to(torch.bfloat16).contiguous(memory_format=torch.channels_last) / 255.0
        with torch.autocast(frames.device.type, torch.bfloat16):
            result = self.convolutions(pixels)
        return result.float()
