"""The settings of one expert of CoinRun."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class ExpertOptions:
    """The settings of one expert, from ``conf/expert``.

    Attributes:
        mode: procgen's distribution mode.
        frames: total number of frames to play.
        n_games: number of games played at once.
        n_steps: number of steps of each game between two updates.
        minibatches: number of minibatches into which the frames of each update are divided.
        update_epochs: number of passes over the frames of each update.
        lr, gamma, gae_lambda, entropy_bonus, clip_range: settings of PPO with their usual meaning.
        width, features, blocks: sizes of the network, see ``lab.experiments.coinrun.network``.
        bfloat16: whether to train with convolutions in bfloat16, which is two to three times faster on CPUs
            with AMX.
        seed: seed of the network, the levels and the actions.
        checkpoint_every: number of frames between checkpoints.
        evaluate_every: number of frames between measurements on unseen levels; 0 for no measurements.
        threads: number of CPU threads of the network; procgen starts no threads of its own.

    Raises:
        UserError: a number is out of range.
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
    blocks: int
    bfloat16: bool
    seed: int
    checkpoint_every: int
    evaluate_every: int
    threads: int

    def __post_init__(self) -> None:
        may_be_zero = ("seed", "entropy_bonus", "blocks", "bfloat16", "evaluate_every")
        for name, value in vars(self).items():
            if name != "mode" and (value < 0 or (value == 0 and name not in may_be_zero)):
                least = "0 or more" if name in may_be_zero else "above 0"
                raise UserError(f"{name} must be {least}, got {value}")
        if self.gamma > 1 or self.gae_lambda > 1:
            raise UserError(f"gamma and gae_lambda must be at most 1, got {self.gamma} and {self.gae_lambda}")
        if self.n_games * self.n_steps % self.minibatches:
            raise UserError(
                f"minibatches must divide n_games * n_steps = {self.n_games * self.n_steps}, "
                f"got {self.minibatches}"
            )
