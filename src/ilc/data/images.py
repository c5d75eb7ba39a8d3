"""Images with labels, and how their pixels become numbers of mean 0 and variance 1."""

from __future__ import annotations

from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from ilc.errors import UserError

N_CLASSES = 10
"""Of CIFAR-10 and of Fashion-MNIST."""
_AT_ONCE = 1024


class LabelledImages(NamedTuple):
    """``images`` ``[M, C, S, S]``, uint8, and their true ``labels`` ``[M]`` from 0 to 9."""

    images: Tensor
    labels: Tensor


class PixelScale(NamedTuple):
    """Takes the mean off every channel and divides by its standard deviation.

    Attributes:
        mean: ``[C, 1, 1]``, float32, in units of a byte.
        deviation: ``[C, 1, 1]``, float32, in units of a byte.
    """

    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, images: Tensor) -> Self:
        """The scale under which these images ``[M, C, S, S]`` (uint8) have mean 0 and variance 1."""
        # Counts of the 256 values give both moments without a float copy of all images.
        values = torch.arange(256, dtype=torch.float64)
        counts = torch.stack([images[:, c].flatten().bincount(minlength=256) for c in range(images.shape[1])])
        shares = counts.double() / counts.sum(1, keepdim=True)
        mean = shares @ values
        deviation = (shares @ values.square() - mean.square()).clamp_min(0).sqrt().clamp_min(1e-6)
        return cls(mean.float()[:, None, None], deviation.float()[:, None, None])

    def __call__(self, images: Tensor) -> Tensor:
        """Bytes ``[..., C, S, S]`` as float32."""
        return (images.float() - self.mean) / self.deviation

    def to(self, device: torch.device) -> PixelScale:
        """The same scale on another device."""
        return PixelScale(self.mean.to(device), self.deviation.to(device))


def averaged(part: LabelledImages, image_size: int) -> LabelledImages:
    """Smaller images: every pixel is the mean of a square of pixels, rounded.

    Raises:
        UserError: ``image_size`` does not divide the side of the images.
    """
    side = part.images.shape[-1]
    if image_size < 1 or side % image_size:
        divisors = [size for size in range(1, side + 1) if side % size == 0]
        raise UserError(
            f"dataset.image_size must divide the {side} pixels of a side: one of "
            f"{', '.join(map(str, divisors))}, got {image_size}"
        )
    square = side // image_size
    if square == 1:
        return part
    pieces = torch.split(part.images, _AT_ONCE)  # Bytes take a quarter of the memory of floats.
    means = [nn.functional.avg_pool2d(piece.float(), square) for piece in pieces]
    return LabelledImages(torch.cat(means).round().byte(), part.labels)
