"""Pictures of rollouts: in each pair of rows the truth is above, and the predictions are below."""

from __future__ import annotations

import io

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.experiments.skip_intervals.rollouts import Rollouts
from lab.experiments.skip_intervals.trajectories import Trajectories

LONGEST = 16
"""The largest number of predictions in a row."""
HEIGHT = 80
"""The approximate height in pixels to which a frame is enlarged."""
MARGIN = 2


def strip(rollouts: Rollouts, trajectories: Trajectories) -> Tensor:
    """Return a picture ``[height, width, C]``, uint8: predictions below the frames of their matches.

    The first column of each row is the first frame.
    """
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
    # There is more space below each pair than within it.
    framed[1::2] = F.pad(framed[1::2, :, :, : -2 * MARGIN], (0, 0, 0, 2 * MARGIN), value=0.5)
    tiled = framed.permute(0, 3, 1, 4, 2).flatten(2, 3).flatten(0, 1)
    return (255 * tiled).round().to(torch.uint8).cpu()


def png(picture: Tensor) -> bytes:
    """Return a picture ``[height, width, C]`` as a PNG file."""
    from PIL import Image  # Imported here, because nothing before the first evaluation needs it.

    buffer = io.BytesIO()
    Image.fromarray(picture.numpy()).save(buffer, "png", optimize=True)
    return buffer.getvalue()
