"""The simulator f, which predicts a later frame from a frame by seven convolutions (thesis, appendix A.1)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ilc.errors import UserError

ARCHITECTURES = ("simple", "strided", "dilated")


class Simulator(nn.Module):
    """A network from frames ``[B, C, h, w]`` in [0, 1] to the logits of later frames, of the same shape.

    Weights have He's initialisation and biases begin at zero. The strided architecture downsamples at the
    second layer and upsamples at the fourth, a transposed convolution of 5 x 5 as in the authors' code.

    Args:
        architecture: one of ``ARCHITECTURES``.
        kernels: number of kernels of every layer except the last.
        residual: Deviation: ``residual * (2x - 1)`` is added to the logits, for an input x, and the last
            layer begins at a tenth of its initialisation. The untrained simulator then copies its input. 0
            leaves this out, as in the thesis.
        channels: C, the number of channels.

    Raises:
        UserError: the architecture is unknown, or a number is out of range.
    """

    def __init__(self, architecture: str, kernels: int, residual: float = 0.0, channels: int = 3) -> None:
        super().__init__()
        if architecture not in ARCHITECTURES:
            raise UserError(
                f"simulator.architecture must be one of {', '.join(ARCHITECTURES)}, got {architecture!r}"
            )
        if kernels < 1 or residual < 0:
            raise UserError(
                f"simulator.kernels must be at least 1 and residual at least 0, got {kernels} and {residual}"
            )
        self.residual = residual
        stride = 2 if architecture == "strided" else 1
        dilation = 2 if architecture == "dilated" else 1
        fourth: nn.Module = nn.Conv2d(kernels, kernels, 7, padding=3 * dilation, dilation=dilation)
        if architecture == "strided":
            fourth = nn.ConvTranspose2d(kernels, kernels, 5, stride=2, padding=2, output_padding=1)
        self.wide = nn.ModuleList(
            [
                nn.Conv2d(channels, kernels, 5, padding=2),
                nn.Conv2d(kernels, kernels, 5, padding=2, stride=stride),
                nn.Conv2d(kernels, kernels, 5, padding=2),
                fourth,
                nn.Conv2d(kernels, kernels, 5, padding=2),
            ]
        )
        self.mix = nn.Conv2d(kernels + channels, kernels, 1)
        self.out = nn.Conv2d(kernels, channels, 1)
        for layer in (*self.wide, self.mix, self.out):
            assert isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)) and layer.bias is not None
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        if residual:
            with torch.no_grad():
                self.out.weight.mul_(0.1)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, frames: Tensor) -> Tensor:
        """Return the logits of the prediction."""
        height, width = frames.shape[-2:]
        frames = frames.contiguous(memory_format=torch.channels_last)
        maps = frames
        for layer in self.wide:
            maps = F.relu(layer(maps))
        # After the stride, an odd size has become larger by one.
        maps = torch.cat([maps[..., :height, :width], frames], 1)
        logits: Tensor = self.out(F.relu(self.mix(maps)))
        return logits + self.residual * (2 * frames - 1) if self.residual else logits
