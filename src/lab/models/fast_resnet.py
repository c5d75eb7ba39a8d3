"""FastResNet: the small, fast ResNet of the memorisation experiments (paper, appendix to section 3.2).

It has the layout of PyTorch-Ignite's example of that name. It begins with a convolution and three stages
that double the channels and halve the image. A residual block follows the first and the last stage. A
maximum over the remaining image and a linear layer come last. Deviation: by default the linear layer has a
bias, and its outputs are the logits. In the example and in the authors' code it has none, and the logits are
an eighth of its outputs (``scaled_logits=True``). docs/memorisation.md compares both.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from lab.models.size import check_size

NORMS = ("batch", "group")
CHANNELS_PER_GROUP = 8
LOGIT_SCALE = 0.125
"""The factor of the logits in the example of PyTorch-Ignite."""


class FastResNet(nn.Module):
    """A network from images ``[N, in_channels, H, W]``, H and W at least 8, to logits ``[N, out_features]``.

    Args:
        in_channels: 3 for colour.
        out_features: number of classes.
        width: channels after the first convolution (64 in the paper).
        norm: ``batch`` as in the paper, or ``group``, which does not mix examples.
        scaled_logits: whether the last layer has no bias and the logits are an eighth of its outputs.

    Raises:
        UserError: the width is below 1, or the norm is unknown.
    """

    takes: ClassVar[tuple[str, ...]] = ("images",)
    """The kinds of inputs that the model accepts."""
    smallest_image: ClassVar[int] = 8
    """The smallest height and width that are still at least 1 after three halvings."""
    same_every_step: ClassVar[bool] = True
    """Whether every pass does the same operations, so that a GPU can repeat a recorded one."""

    def __init__(
        self,
        in_channels: int,
        out_features: int,
        width: int = 64,
        norm: str = "batch",
        scaled_logits: bool = False,
    ) -> None:
        super().__init__()
        if width < 1 or norm not in NORMS:
            raise UserError(
                f"FastResNet needs width >= 1 and norm in {', '.join(NORMS)}, got {width}, {norm!r}"
            )
        check_size("fast_resnet", 1602 * width**2)  # Nearly all parameters grow with the width squared.
        self.features = nn.Sequential(
            _convolution(in_channels, width, norm),
            _convolution(width, 2 * width, norm, relu=False),
            _pool(),
            _Residual(2 * width, norm),
            _convolution(2 * width, 4 * width, norm, relu=False),
            _pool(),
            _convolution(4 * width, 8 * width, norm, relu=False),
            _pool(),
            _Residual(8 * width, norm),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(8 * width, out_features, bias=not scaled_logits)
        self._scaled_logits = scaled_logits

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits ``[N, out_features]``."""
        if not images.is_cuda:
            # On a CPU the layers are up to five times as fast if a pixel's channels lie side by side in
            # memory. On an H100 they were slower in float32.
            # The clone is needed because an image with a single channel counts as contiguous in any layout
            # and would keep its strides.
            by_pixel = images.permute(0, 2, 3, 1).clone(memory_format=torch.contiguous_format)
            images = by_pixel.permute(0, 3, 1, 2)
        logits: Tensor = self.classifier(self.features(images))
        return logits * LOGIT_SCALE if self._scaled_logits else logits


class _Residual(nn.Module):
    """A residual block, which adds the result of two convolutions to the input."""

    def __init__(self, channels: int, norm: str) -> None:
        super().__init__()
        self.change = nn.Sequential(
            _convolution(channels, channels, norm), _convolution(channels, channels, norm)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x`` plus its change."""
        changed: Tensor = x + self.change(x)
        return changed


def _convolution(in_channels: int, out_channels: int, norm: str, relu: bool = True) -> nn.Sequential:
    """Return a 3 x 3 convolution, the norm (which has the bias) and, if ``relu``, a ReLU."""
    groups = max(1, out_channels // CHANNELS_PER_GROUP)
    normalise = nn.BatchNorm2d(out_channels) if norm == "batch" else nn.GroupNorm(groups, out_channels)
    last = [nn.ReLU(inplace=True)] if relu else []
    return nn.Sequential(nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False), normalise, *last)


def _pool() -> nn.Sequential:
    """Return the maximum over squares of four pixels and the ReLU of the previous convolution.

    The maximum comes first, so that the ReLU has a quarter of the work. Outputs and gradients are bit for bit
    those of the other order: the largest of four numbers stays the largest, and if it is not above 0, output
    and gradient are 0 in both orders.
    """
    return nn.Sequential(nn.MaxPool2d(2), nn.ReLU(inplace=True))
