"""Rollouts as a picture: the truth in the upper row of each pair, what was predicted below it."""

from __future__ import annotations

import io

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.experiments.skip_intervals.rollouts import Rollouts
from lab.experiments.skip_intervals.trajectories import Trajectories

LONGEST = 16
"""Columns at most."""
HEIGHT = 80
"""Pixels that a frame is enlarged to, about."""
MARGIN = 2


def strip(rollouts: Rollouts, trajectories: Trajectories) -> Tensor:
    """``[height, width, C]``, uint8: first frame, then predictions below the frames they are matched with."""
    n = len(rollouts.frames)
    rows = torch.arange(n, device=rollouts.times.device)
    predicted = rollouts.frames[:, :LONGEST]
    truth = trajectories.at(rows[:, None], rollouts.times[:n, : predicted.shape[1]])
    first = trajectories.at(rows, torch.zeros_like(rows))[:, None]
    upper, lower = torch.cat([first, truth], 1), torch.cat([first, predicted], 1)
    pairs = torch.stack([upper, lower], 1).flatten(0, 1)  # [2 n, columns, C, h, w]
    scale = max(1, HEIGHT // pairs.shape[-2])
    large = pairs.repeat_interleave(scale, -1).repeat_interleave(scale, -2)
    framed = F.pad(large, (MARGIN, MARGIN, MARGIN, MARGIN), value=0.5)
    # More room below each pair than within it.
    framed[1::2] = F.pad(framed[1::2, :, :, : -2 * MARGIN], (0, 0, 0, 2 * MARGIN), value=0.5)
    tiled = framed.permute(0, 3, 1, 4, 2).flatten(2, 3).flatten(0, 1)
    return (255 * tiled).round().to(torch.uint8).cpu()


def png(picture: Tensor) -> bytes:
    """A picture ``[height, width, C]`` as a PNG file."""
    from PIL import Image  # Not needed before the first evaluation.

    buffer = io.BytesIO()
    Image.fromarray(picture.numpy()).save(buffer, "png", optimize=True)
    return buffer.getvalue()
