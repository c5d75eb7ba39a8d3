"""The teacher that reads a trajectory: convolutions over time, then two values per unit of the student."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from lab.experiments.distillation.replicas import Convolution, Linear


class TrajectoryTeacher(nn.Module):
    """R teachers (thesis, appendix C.2.2.2); batch normalisation always uses the statistics of the batch.

    Args:
        n_frame: number of values per frame.
        steps: T, the number of frames.
        channels: channels of the convolutions over time; their kernels have size 3, which the thesis leaves
            open.
        units: number of units of the layer after the convolutions.
        widths: widths of the student's layers.
        generators: one generator per replica.
    """

    def __init__(
        self,
        n_frame: int,
        steps: int,
        channels: list[int],
        units: int,
        widths: list[int],
        generators: list[torch.Generator],
    ) -> None:
        super().__init__()
        self.n, self.widths = len(generators), widths
        self.convolutions = nn.ModuleList(
            Convolution(before, after, generators, dimensions=1)
            for before, after in pairwise([n_frame, *channels])
        )
        self.norms = nn.ModuleList(_BatchNorm(self.n, width) for width in channels)
        self.middle = Linear(channels[-1] * steps, units, generators)
        self.middle_norm = _BatchNorm(self.n, units)
        self.last = Linear(units, 2 * sum(widths), generators)

    def forward(self, privileged: Tensor) -> list[list[Tensor]]:
        """Map ``[R, S, B, T, C]`` to S lists, each with ``[R, B, 2, K]`` for each layer of the student."""
        n, s, b, steps, _ = privileged.shape
        values = privileged.permute(1, 2, 0, 4, 3).reshape(s * b, -1, steps)
        for convolve, norm in zip(self.convolutions, self.norms, strict=True):
            values = convolve(values).reshape(s, b, n, -1, steps)
            values = norm(values).relu().reshape(s * b, -1, steps)
        flat = values.reshape(s, b, n, -1).permute(2, 0, 1, 3)
        middle = self.middle(flat).permute(1, 2, 0, 3)[..., None]
        outputs = self.last(self.middle_norm(middle).relu()[..., 0].permute(2, 0, 1, 3))
        # The gradient of unbind is one stack. Indexing each step would give a whole tensor of zeros per step.
        layers = [part.unbind(1) for part in outputs.unflatten(-1, (2, -1)).split(self.widths, dim=-1)]
        return [list(signal) for signal in zip(*layers, strict=True)]


class _BatchNorm(nn.Module):
    """Batch normalisation of ``[S, B, R, C, T]``, for each batch and replica by itself."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(n, width, 1))
        self.shift = nn.Parameter(torch.zeros(n, width, 1))

    def forward(self, values: Tensor) -> Tensor:
        centred = values - values.mean(4, keepdim=True).mean(1, keepdim=True)
        variance = centred.square().mean(4, keepdim=True).mean(1, keepdim=True)
        return centred * ((variance + 1e-5).rsqrt() * self.scale) + self.shift
