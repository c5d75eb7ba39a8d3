"""The matching of predictions with true frames (thesis, section 2.2, algorithm 1)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Match(NamedTuple):
    """The matches of B predictions.

    Attributes:
        chosen: index of the candidate with which each prediction is matched, ``[B]``.
        loss: binary cross-entropy with that candidate, averaged over pixels and channels, ``[B]``.
    """

    chosen: Tensor
    loss: Tensor


def losses(logits: Tensor, frames: Tensor) -> Tensor:
    """Return the binary cross-entropy of each prediction with each of its candidates, ``[B, S]``.

    For a logit l and a pixel x it is softplus(l) - x l. Only the second term depends on the candidate, so one
    matrix product computes all values.

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
        frames: S candidates of each prediction, ``[B, S, C, h, w]``, earliest first.
        valid: whether each candidate is a frame of the trajectory, ``[B, S]``; the valid ones come first.
        at_random: a number for each prediction, ``[B]``. A negative number gives the best match. A uniform
            number in [0, 1) gives a random match; each valid candidate then has the same chance.
    """
    scores = losses(logits, frames)
    index = scores.detach().masked_fill(~valid, torch.inf).argmin(1)
    if at_random is not None:
        count = valid.sum(1)
        drawn = (at_random * count).long().minimum(count - 1)
        index = torch.where(at_random >= 0, drawn, index)
    return Match(index, scores.gather(1, index[:, None]).squeeze(1))
