"""Images with labels, and the scale that turns their pixels into numbers of mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from lab.files.sealed import sealed_or_made

N_CLASSES = 10
"""The number of classes of CIFAR-10 and of Fashion-MNIST."""
PARTS = ("train", "test")
_AT_ONCE = 1024


class LabelledImages(NamedTuple):
    """``images`` ``[M, C, S, S]``, uint8, and their true ``labels`` ``[M]`` from 0 to 9."""

    images: Tensor
    labels: Tensor


def read_decoded(
    path: Path,
    decode: Callable[[], dict[str, LabelledImages]],
    shape: tuple[int, int, int],
    sizes: Mapping[str, int],
) -> dict[str, LabelledImages]:
    """Return the parts in the file ``path``. If it does not exist, ``decode`` makes them and they are saved.

    A file that holds something else, as one of another version may, is made again.

    Args:
        path: the file.
        decode: returns the parts ``train`` and ``test``.
        shape: C, S, S of every image.
        sizes: the number of images of each part.

    Raises:
        UserError: the file is damaged or cannot be written, or ``decode`` raises it.
    """

    def fits(kept: Any) -> bool:
        def part_fits(part: str) -> bool:
            images, labels = kept[part]
            are_images = images.dtype == torch.uint8 and images.shape == (sizes[part], *shape)
            are_labels = labels.dtype == torch.int64 and labels.shape == (sizes[part],)
            return are_images and are_labels and 0 <= int(labels.min()) <= int(labels.max()) < N_CLASSES

        return all(part_fits(part) for part in PARTS)

    kept = sealed_or_made(
        path,
        lambda: {part: tuple(values) for part, values in decode().items()},
        fits,
        "remove it and give the same command",
        mmap=True,
    )
    return {part: LabelledImages(*kept[part]) for part in PARTS}


class PixelScale(NamedTuple):
    """A function that subtracts the mean of every channel and divides by its standard deviation.

    Attributes:
        mean: ``[C, 1, 1]``, float32, in units of a byte.
        deviation: ``[C, 1, 1]``, float32, in units of a byte.
    """

    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, images: Tensor) -> Self:
        """Return the scale under which these images ``[M, C, S, S]`` (uint8) have mean 0 and variance 1."""
        # The counts of the 256 values give mean and variance without a float copy of all images.
        values = torch.arange(256, dtype=torch.float64)
        counts = torch.stack([images[:, c].flatten().bincount(minlength=256) for c in range(images.shape[1])])
        shares = counts.double() / counts.sum(1, keepdim=True)
        mean = shares @ values
        deviation = (shares @ values.square() - mean.square()).clamp_min(0).sqrt().clamp_min(1e-6)
        return cls(mean.float()[:, None, None], deviation.float()[:, None, None])

    def __call__(self, images: Tensor) -> Tensor:
        """Return the scaled bytes ``[..., C, S, S]`` as float32."""
        return (images.float() - self.mean) / self.deviation

    def to(self, device: torch.device) -> PixelScale:
        """Return the same scale on another device."""
        return PixelScale(self.mean.to(device), self.deviation.to(device))


def averaged(part: LabelledImages, image_size: int) -> LabelledImages:
    """Return smaller images. Each of their pixels is the rounded mean of a square of pixels.

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
    pieces = torch.split(part.images, _AT_ONCE)  # Floats need four times the memory of bytes.
    means = [nn.functional.avg_pool2d(piece.float(), square) for piece in pieces]
    return LabelledImages(torch.cat(means).round().byte(), part.labels)
