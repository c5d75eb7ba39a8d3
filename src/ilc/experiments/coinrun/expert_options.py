"""The settings of one expert of CoinRun."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.errors import UserError


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
        width, features, blocks: of the network, see ``ilc.experiments.coinrun.network``.
        bfloat16: learn with convolutions in half precision; on CPUs with AMX two to three times faster.
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
    blocks: int
    bfloat16: bool
    seed: int
    checkpoint_every: int
    threads: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name not in ("mode", "seed", "entropy_bonus", "blocks", "bfloat16") and value <= 0:
                raise UserError(f"{name} must be above 0, got {value}")
        if min(self.seed, self.entropy_bonus, self.blocks) < 0 or self.gamma > 1 or self.gae_lambda > 1:
            raise UserError(
                "seed, entropy_bonus and blocks must be 0 or more, gamma and gae_lambda at most 1"
            )
        if self.n_games * self.n_steps % self.minibatches:
            raise UserError(
                f"minibatches must divide n_games * n_steps = {self.n_games * self.n_steps}, "
                f"got {self.minibatches}"
            )
