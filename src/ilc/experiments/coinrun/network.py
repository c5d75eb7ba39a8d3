"""The expert's network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.experiments.coinrun.game import N_ACTIONS


def convolutions(width: int = 16, features: int = 256) -> nn.Sequential:
    """Frames ``[N, 3, 64, 64]`` in [0, 1] to ``features`` numbers: three convolutions and a linear layer.

    A Nature CNN (Mnih et al., 2015) narrow enough to learn 2,000 frames per second on one CPU core.
    Deviation: the paper's expert is an IMPALA network.
    """
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


class ExpertNetwork(nn.Module):
    """From frames to logits over the 15 actions; needs neither procgen nor stable-baselines3.

    Args:
        width: channels of the first convolution.
        features: units of the last hidden layer.
    """

    def __init__(self, width: int, features: int) -> None:
        super().__init__()
        self.convolutions = convolutions(width, features)
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
