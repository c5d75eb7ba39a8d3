"""The expert's network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lab.experiments.coinrun.game import N_ACTIONS


def patches(frames: Tensor) -> Tensor:
    """Cut frames ``[N, 3, 64, 64]`` into squares of 4 x 4 pixels ``[N, 256, 48]``, row by row, colours last.

    This is one quick copy if the frames lie in memory as procgen writes them, with the three colours of a
    pixel side by side.
    """
    n = len(frames)
    squares = frames.permute(0, 2, 3, 1).reshape(n, 16, 4, 16, 4, 3).transpose(2, 3)
    return squares.reshape(n, 256, 48)


def image_of(squares: Tensor) -> Tensor:
    """View ``patches`` ``[N, 256, 48]`` as an image of 48 colours ``[N, 48, 16, 16]``, without a copy."""
    return squares.reshape(len(squares), 16, 16, 48).permute(0, 3, 1, 2)


def convolutions(width: int = 16, features: int = 256, blocks: int = 0) -> nn.Sequential:
    """Return a network from pixels in [0, 1] to ``features`` numbers.

    Without blocks it is a Nature CNN (Mnih et al., 2015) on frames ``[N, 3, 64, 64]``, with three
    convolutions and a linear layer. With blocks it is an IMPALA network (Espeholt et al., 2018) adapted to
    one CPU core. Its inputs are images of patches ``[N, 48, 16, 16]``. It has two stages, at 16x16 and 8x8
    pixels, and each stage consists of a convolution and ``blocks`` residual blocks.

    Deviation: IMPALA has three stages, with max-pooling from 64x64 pixels; it runs at a fifth of the speed or
    less.
    """
    if blocks:
        return nn.Sequential(
            nn.Conv2d(48, width, 3, padding=1),
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
    """A residual block: the input plus two convolutions of the input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.second(self.first(x.relu()).relu())
        return x + change


class ExpertNetwork(nn.Module):
    """A network from frames to logits of the 15 actions; it needs neither procgen nor stable-baselines3.

    Args:
        width: number of channels of the first convolution.
        features: number of units of the last hidden layer.
        blocks: number of residual blocks per stage; 0 gives a Nature CNN.
    """

    def __init__(self, width: int, features: int, blocks: int = 0) -> None:
        super().__init__()
        self.convolutions = convolutions(width, features, blocks)
        self.action = nn.Linear(features, N_ACTIONS)
        self._of_patches = blocks > 0

    def forward(self, frames: Tensor) -> Tensor:
        """Return logits ``[N, 15]`` of uint8 frames ``[N, 3, 64, 64]``."""
        pixels = image_of(patches(frames)) if self._of_patches else frames
        logits: Tensor = self.action(self.convolutions(pixels / 255.0))
        return logits

    @torch.no_grad()
    def distribution(self, frames: Tensor) -> Tensor:
        """Return the probability of each action ``[N, 15]``, float32, of uint8 frames."""
        logits: Tensor = self(frames)
        return logits.softmax(dim=1)
