"""A small transformer. It is one more kind of network whose steps are timed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

TOKENS, LENGTH = 256, 32


class Transformer(nn.Module):
    """A transformer of two blocks, from tokens ``[N, LENGTH]`` to logits ``[N, 10]``.

    Attention is made of linear layers, and LayerNorm comes first in each block.

    Args:
        width: the width of the residual stream.
        heads: the number of attention heads.
    """

    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(_Block(width, heads), _Block(width, heads))
        self.norm, self.classifier = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits from the mean over the positions."""
        places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        hidden = self.blocks(self.tokens(tokens) + self.places(places))
        logits: Tensor = self.classifier(self.norm(hidden).mean(1))
        return logits


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.to_all, self.to_one = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        three = self.to_all(self.norm(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = three[0], three[1], three[2]
        weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
        x = x + self.to_one((weights @ value).transpose(1, 2).reshape(n, length, width))
        result: Tensor = x + self.feed(x)
        return result
