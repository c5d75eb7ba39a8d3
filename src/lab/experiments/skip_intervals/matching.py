"""Which true frame a prediction is matched with (thesis, section 2.2, algorithm 1)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Match(NamedTuple):
    """What became of B predictions.

    Attributes:
        chosen: index of the candidate that each is matched with, ``[B]``.
        loss: pixel-wise binary cross-entropy with that candidate, mean over pixels and channels, ``[B]``.
    """

    chosen: Tensor
    loss: Tensor


def losses(logits: Tensor, frames: Tensor) -> Tensor:
    """Binary cross-entropy of each prediction with each of its candidates, ``[B, S]``, in one product.

    For a logit l and a pixel x it is softplus(l) - x l, and only the second term differs by candidate.

    Args:
        logits: predictions, ``[B, C, h, w]``.
        frames: candidates in [0, 1], ``[B, S, C, h, w]``.
    """
    flat = logits.flatten(1)
    agreement = torch.bmm(frames.flatten(2), flat[:, :, None]).squeeze(2)
    return F.softplus(flat).mean(1, keepdim=True) - agreement / flat.shape[1]


def match(logits: Tensor, frames: Tensor, valid: Tensor, at_random: Tensor | None = None) -> Match:
    """Match each prediction with the candidate that it fits best, or with a random one.

    Args:
        logits: predictions before the sigmoid, ``[B, C, h, w]``.
        frames: S candidates of each, ``[B, S, C, h, w]``, earliest first.
        valid: which of them are frames of the trajectory, the first ones of each, ``[B, S]``.
        at_random: numbers in [0, 1) where a prediction is matched with any of the valid candidates by equal
            chance, and a negative number elsewhere, ``[B]``.
    """
    scores = losses(logits, frames)
    index = scores.detach().masked_fill(~valid, torch.inf).argmin(1)
    if at_random is not None:
        count = valid.sum(1)
        drawn = (at_random * count).long().minimum(count - 1)
        index = torch.where(at_random >= 0, drawn, index)
    return Match(index, scores.gather(1, index[:, None]).squeeze(1))
