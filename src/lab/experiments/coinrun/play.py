"""Play with a policy: draw its actions, and count the levels that it solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lab.experiments.coinrun.game import LONGEST_EPISODE, N_ACTIONS, frames_of, make_pinned_game

Policy = Callable[[Tensor], Tensor]
"""A function from frames ``[n, 3, 64, 64]`` uint8 to the probability of each action ``[n, 15]``."""


class Success(NamedTuple):
    """The success in one episode on each level: the share that reached the coin, and the mean return."""

    success_rate: float
    mean_return: float


def random_policy(frames: Tensor) -> Tensor:
    """Give all actions the same probability."""
    return torch.full((len(frames), N_ACTIONS), 1 / N_ACTIONS)


def student_policy(model: nn.Module) -> Policy:
    """Return the policy of a student whose outputs are logits."""

    @torch.no_grad()
    def distribution(frames: Tensor) -> Tensor:
        logits: Tensor = model(frames)
        return logits.softmax(dim=1)

    return distribution


def draw_actions(probabilities: Tensor, random: np.random.Generator) -> NDArray[np.int32]:
    """Draw one action for each row of the probabilities ``[n, 15]``; return the actions ``[n]``."""
    cumulated = probabilities.double().cumsum(dim=1).numpy()
    # The points are scaled by the last sum, so that no point lies above it when rounding keeps it below 1.
    points = random.random((len(cumulated), 1)) * cumulated[:, -1:]
    actions: NDArray[np.int32] = (cumulated <= points).sum(axis=1).astype(np.int32)
    return actions


def returns_on(policy: Policy, levels: range, mode: str, seed: int = 0) -> NDArray[np.float32]:
    """Play every level once and return the return of each episode: 10 if the coin was reached, else 0.

    Actions are drawn from the policy. An episode ends with the coin, with death or after 1,000 steps.

    Args:
        policy: policy that plays.
        levels: levels to play, one episode on each, all at the same time.
        mode: procgen's distribution mode.
        seed: seed of the actions and of the random events within a level.

    Raises:
        UserError: see ``make_game``.
    """
    random = np.random.default_rng(seed)
    game = make_pinned_game(list(levels), mode, seed)
    returns = np.zeros(len(levels), dtype=np.float32)
    playing = np.ones(len(levels), dtype=bool)
    actions = np.zeros(len(levels), dtype=np.int32)
    for _ in range(LONGEST_EPISODE):
        # Only games whose first episode still goes on matter; what the other games do is ignored.
        frames = torch.from_numpy(frames_of(game)[1][playing])
        actions[playing] = draw_actions(policy(frames), random)
        game.act(actions)
        rewards, _, ended = frames_of(game)
        returns[playing] += rewards[playing]
        playing &= ~ended
        if not playing.any():
            break
    game.close()
    return returns


def success_on(policy: Policy, levels: range, mode: str) -> Success:
    """Play every level once, as ``returns_on`` does, and return the policy's success."""
    returns = returns_on(policy, levels, mode)
    return Success(float((returns > 0).mean()), float(returns.mean()))
