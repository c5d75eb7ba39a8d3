"""Images drawn by a formula: what the image experiments use where CIFAR-10 cannot be had.

32 x 32 pixels, three colours, ten classes: a disc, square, triangle, cross or star, filled or in
outline, shifted, scaled and tilted, in any bright colour on a shaded dark background under
much pixel noise. The classes share structure that a network can learn, though not to the last test
image, and no two images are alike, so that a network can memorise them too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

SIZE = 32
SHAPES = ("disc", "square", "triangle", "cross", "star")
N_CLASSES = 2 * len(SHAPES)
PIXEL_NOISE = 0.2
"""Standard deviation per pixel and colour, where black is 0 and white is 1: some images are hard to tell."""
_AT_ONCE = 1024


class LabelledImages(NamedTuple):
    """``images`` ``[M, 3, 32, 32]``, uint8, and their true ``labels`` ``[M]`` from 0 to 9."""

    images: Tensor
    labels: Tensor


def procedural_images(n: int, random: torch.Generator) -> LabelledImages:
    """Draw ``n`` images, as many of each class as can be, in random order.

    Class ``2 * i`` is shape i of ``SHAPES`` filled, class ``2 * i + 1`` in outline.
    """
    labels = torch.arange(n)[torch.randperm(n, generator=random)] % N_CLASSES
    images = [_draw(few, random) for few in torch.split(labels, _AT_ONCE)]
    return LabelledImages(torch.cat(images) if images else torch.empty(0, 3, SIZE, SIZE).byte(), labels)


def _draw(labels: Tensor, random: torch.Generator) -> Tensor:
    m = len(labels)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(m, *shape, generator=random)

    axis = torch.arange(SIZE) - (SIZE - 1) / 2
    radius, angle = uniform(8, 13), uniform(-0.4, 0.4)
    x = (axis.view(1, 1, -1) - uniform(-4, 4)[:, None, None]) / radius[:, None, None]
    y = (axis.view(1, -1, 1) - uniform(-4, 4)[:, None, None]) / radius[:, None, None]
    cosine, sine = angle.cos()[:, None, None], angle.sin()[:, None, None]
    gauge = _gauge(labels // 2, cosine * x + sine * y, cosine * y - sine * x)
    edge = (1 - gauge) * radius[:, None, None]  # Roughly the pixels to the edge, so edges are one pixel soft.
    inner = (gauge - 0.55) * radius[:, None, None]
    is_outline = (labels % 2 == 1)[:, None, None]
    ink = torch.sigmoid(2 * torch.where(is_outline, torch.minimum(edge, inner), edge)).unsqueeze(1)

    # The shape is the brighter part; the background fades from one dark colour to another.
    front, back, far = uniform(0.5, 1, 3), uniform(0, 0.5, 3), uniform(0, 0.5, 3)
    fade = (uniform(-1, 1)[:, None, None] * axis.view(1, 1, -1) / SIZE) + uniform(-1, 1)[
        :, None, None
    ] * axis.view(1, -1, 1) / SIZE
    fade = (0.25 + fade / 2).clamp(0, 1).unsqueeze(1)
    background = back[:, :, None, None] * (1 - fade) + far[:, :, None, None] * fade
    image = background * (1 - ink) + front[:, :, None, None] * ink
    image = image + PIXEL_NOISE * torch.randn(image.shape, generator=random)
    return image.mul(255).round().clamp(0, 255).byte()


def _gauge(shape: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Below 1 inside the shape, above outside; all about as large as the unit disc."""
    r, theta = torch.hypot(x, y), torch.atan2(y, x)
    square = torch.maximum(x.abs(), y.abs()) / 0.8
    triangle = torch.stack([x * math.cos(a) + y * math.sin(a) for a in _angles(3)]).amax(0) / 0.55
    cross = torch.minimum(torch.maximum(x.abs(), y.abs() / 0.3), torch.maximum(x.abs() / 0.3, y.abs()))
    fifth = math.pi / 5
    to_tip = (theta.remainder(2 * fifth) - fifth).abs() / fifth  # 1 at a tip, 0 between two.
    star = r / (0.45 + 0.65 * to_tip.square())
    every = torch.stack([r / 0.9, square, triangle, cross, star])
    return every.gather(0, shape.view(1, -1, 1, 1).expand(1, *x.shape))[0]


def _angles(n: int) -> list[float]:
    return [2 * math.pi * i / n for i in range(n)]
