"""The expert's network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.experiments.coinrun.game import N_ACTIONS


def convolutions(width: int = 16, features: int = 256, blocks: int = 0) -> nn.Sequential:
    """Frames ``[N, 3, 64, 64]`` in [0, 1] to ``features`` numbers.

    Without blocks a Nature CNN (Mnih et al., 2015): three convolutions and a linear layer. With blocks an
    IMPALA network (Espeholt et al., 2018) made for one CPU core: two stages of a convolution and ``blocks``
    residual blocks each, at 16x16 and 8x8 pixels.
    Deviation: IMPALA has three stages, with max-pooling from 64x64 pixels, at a fifth of the speed.
    """
    if blocks:
        return nn.Sequential(
            nn.Conv2d(3, width, 8, stride=4, padding=2),
            *(_Residual(width) for _ in range(blocks)),
            nn.ReLU(),
            nn.Conv2d(width, width, 4, stride=2, padding=1),
            *(_Residual(width) for _ in range(blocks)),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(width * 8 * 8, features),
            nn.ReLU(),
        )
    return nn.Sequential(
        nn.Conv2d(3, width, 8, stride=4, padding=2),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(2 * width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * width * 8 * 8, features),
        nn.ReLU(),
    )


class _Residual(nn.Module):
    """The input plus two convolutions of it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.second(self.first(x.relu()).relu())
        return x + change


class ExpertNetwork(nn.Module):
    """From frames to logits over the 15 actions; needs neither procgen nor stable-baselines3.

    Args:
        width: channels of the first convolution.
        features: units of the last hidden layer.
        blocks: residual blocks per stage; 0 is a Nature CNN.
    """

    def __init__(self, width: int, features: int, blocks: int = 0) -> None:
        super().__init__()
        self.convolutions = convolutions(width, features, blocks)
        self.action = nn.Linear(features, N_ACTIONS)

    def forward(self, frames: Tensor) -> Tensor:
        """Logits ``[N, 15]`` of uint8 frames ``[N, 3, 64, 64]``."""
        logits: Tensor = self.action(self.convolutions(frames / 255.0))
        return logits

    @torch.no_grad()
    def distribution(self, frames: Tensor) -> Tensor:
        """The probability of each action ``[N, 15]``, float32."""
        logits: Tensor = self(frames)
        return logits.softmax(dim=1)
