"""ResNet-18 for frames of CoinRun (paper, section 3.3), and a narrow one for small machines."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from lab.machine.torchvision_import import import_torchvision
from lab.models.size import check_size

FULL_WIDTH = 64
FEWEST_CHANNELS = 16
"""With fewer channels images keep PyTorch's own order in memory."""


class ResNet18(nn.Module):
    """torchvision's ResNet-18, from images ``[N, in_channels, H, W]`` to logits ``[N, out_features]``.

    Images of bytes are scaled to [0, 1]. With a ``width`` below 64, every layer has ``width / 64`` of its
    channels; the network then consists of torchvision's blocks.

    Args:
        in_channels: 3 for colour.
        out_features: number of logits.
        width: channels after the first convolution; 64 gives torchvision's own network.

    Raises:
        UserError: a size is below 1.
    """

    takes: ClassVar[tuple[str, ...]] = ("images", "images of bytes")
    """The kinds of inputs that the model accepts."""

    def __init__(self, in_channels: int, out_features: int, width: int = FULL_WIDTH) -> None:
        super().__init__()
        if min(in_channels, out_features, width) < 1:
            raise UserError(
                f"a ResNet-18 needs positive sizes, got {in_channels=}, {out_features=}, {width=}"
            )
        check_size("resnet18", 2734 * width**2)  # Nearly all parameters grow with the width squared.
        self.network: nn.Module = import_torchvision("torchvision.models").resnet18(num_classes=out_features)
        if in_channels != 3 or width != FULL_WIDTH:
            _resize(self.network, in_channels, out_features, width)
        # With channels side by side in memory, a step takes a fifth less time on a CPU. With few channels
        # oneDNN then writes past its memory, in the backward pass of a strided 1 x 1 convolution (its issue
        # 6035), and the process aborts on processors with AVX2.
        self._format = torch.channels_last if width >= FEWEST_CHANNELS else torch.contiguous_format
        self.network.to(memory_format=self._format)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits ``[N, out_features]``."""
        scaled = images if images.is_floating_point() else images / 255.0
        logits: Tensor = self.network(scaled.contiguous(memory_format=self._format))
        return logits


def _resize(network: Any, in_channels: int, out_features: int, width: int) -> None:
    """Replace all layers that hold weights by layers of the given width, initialised as in torchvision."""
    network.conv1 = nn.Conv2d(in_channels, width, 7, stride=2, padding=3, bias=False)
    network.bn1 = nn.BatchNorm2d(width)
    before = width
    for i in range(4):
        channels = width * 2**i
        setattr(network, f"layer{i + 1}", _stage(before, channels, stride=1 if i == 0 else 2))
        before = channels
    network.fc = nn.Linear(before, out_features)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")


def _stage(before: int, channels: int, stride: int) -> nn.Sequential:
    block = import_torchvision("torchvision.models.resnet").BasicBlock
    shortcut = None
    if stride != 1:
        shortcut = nn.Sequential(
            nn.Conv2d(before, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
        )
    return nn.Sequential(block(before, channels, stride, shortcut), block(channels, channels))
