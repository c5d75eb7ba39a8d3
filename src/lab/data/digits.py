"""scikit-learn's handwritten digits: real images that come with the installation.

There are 1,797 images of 8 x 8 pixels. They are first split into parts. Then small shifts and rotations of
the images are added to each part. So no version of a test digit is ever trained on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

SIZE = 14
COPIES = 10
N_VALIDATION, N_TEST = 297, 400


class DigitImages(NamedTuple):
    """M different images in C versions each: ``images`` ``[M, C, 14, 14]`` in [0, 1], ``digits`` ``[M]``."""

    images: Tensor
    digits: Tensor


def embedded_digits(random: torch.Generator) -> dict[str, DigitImages]:
    """Return the parts ``train`` (1,100 originals), ``validation`` (297) and ``test`` (400).

    Each original has ten versions.
    """
    # The import is slow, and only this source needs it.
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = torch.from_numpy(loaded.images).float().unsqueeze(1) / 16
    digits = torch.from_numpy(loaded.target).long()
    order = torch.randperm(len(digits), generator=random)
    n_train = len(digits) - N_VALIDATION - N_TEST
    parts = torch.split(order, [n_train, N_VALIDATION, N_TEST])
    return {
        name: DigitImages(enlarge(images[part], random), digits[part])
        for name, part in zip(("train", "validation", "test"), parts, strict=True)
    }


def enlarge(
    images: Tensor,
    random: torch.Generator,
    copies: int = COPIES,
    largest_angle: float = 12.0,
    largest_shift: float = 1.0,
) -> Tensor:
    """Return versions ``[M, copies, 14, 14]`` of images ``[M, 1, H, W]``. The first version is only resized.

    Args:
        images: the original images.
        random: a random number generator on the CPU.
        copies: the number of versions of each image.
        largest_angle: the largest angle of a rotation, in degrees.
        largest_shift: the largest shift along each axis, in pixels of the result.
    """
    m = len(images)
    angle = _uniform((m, copies), math.radians(largest_angle), random)
    # affine_grid's coordinates run from -1 to 1 over the image's 14 pixels.
    shift = _uniform((m, copies, 2), 2 * largest_shift / SIZE, random)
    angle[:, 0], shift[:, 0] = 0, 0
    rows = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=-1).view(m, copies, 2, 2)
    affine = torch.cat([rows, shift.unsqueeze(-1)], dim=-1).flatten(0, 1)
    grid = F.affine_grid(affine, [m * copies, 1, SIZE, SIZE], align_corners=False)
    repeated = images.repeat_interleave(copies, dim=0)
    return F.grid_sample(repeated, grid, align_corners=False).view(m, copies, SIZE, SIZE)


def _uniform(shape: tuple[int, ...], limit: float, random: torch.Generator) -> Tensor:
    return limit * (2 * torch.rand(shape, generator=random) - 1)
