"""Networks of R replicas in one program: seeds and sizes of the training set side by side.

All inputs and outputs lead with the replica, ``[R, N, ...]``; no replica sees another.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Module):
    """R linear layers, ``[R, ..., in_features]`` to ``[R, ..., out_features]``, begun as PyTorch's begin.

    Args:
        in_features: of the input.
        out_features: of the output.
        generators: one per replica.
        weight_norm: length and direction of each unit's weights apart (Salimans and Kingma 2016).
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        generators: list[torch.Generator],
        weight_norm: bool = False,
    ) -> None:
        super().__init__()
        bound = in_features**-0.5

        def uniform(*shape: int) -> Tensor:
            drawn = torch.stack([torch.rand(*shape, generator=g) for g in generators])
            values: Tensor = (2 * drawn - 1) * bound
            return values

        self.weight = nn.Parameter(uniform(in_features, out_features))
        self.bias = nn.Parameter(uniform(1, out_features))
        self.length = nn.Parameter(self.weight.detach().norm(dim=1, keepdim=True)) if weight_norm else None

    def forward(self, inputs: Tensor) -> Tensor:
        """Return ``[R, ..., out_features]``."""
        flat = inputs.flatten(1, -2)
        if self.length is None:
            flat = torch.baddbmm(self.bias, flat, self.weight)
        else:  # The few outputs are scaled rather than the many weights.
            scale = self.length * (self.weight * self.weight).sum(1, keepdim=True).rsqrt()
            flat = torch.addcmul(self.bias, flat @ self.weight, scale)
        return flat.reshape(*inputs.shape[:-1], -1)


class Convolution(nn.Module):
    """R convolutions with "same" padding over one or two dimensions, begun as PyTorch's begin.

    Args:
        in_channels: of the input.
        out_channels: of the output.
        generators: one per replica.
        kernel: width of the filters.
        dimensions: 1 or 2.
        gain: factor on the initial weights.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        generators: list[torch.Generator],
        kernel: int = 3,
        dimensions: int = 2,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        bound = (in_channels * kernel**dimensions) ** -0.5
        shape = (out_channels, in_channels, *[kernel] * dimensions)
        weights = [torch.rand(shape, generator=g) * 2 - 1 for g in generators]
        biases = [torch.rand(out_channels, generator=g) * 2 - 1 for g in generators]
        self.weight = nn.Parameter(gain * bound * torch.cat(weights))
        self.bias = nn.Parameter(bound * torch.cat(biases))
        self.replicas = len(generators)
        self.convolve = F.conv1d if dimensions == 1 else F.conv2d

    def forward(self, inputs: Tensor) -> Tensor:
        """``[N, R * in_channels, ...]`` to ``[N, R * out_channels, ...]``: replicas are groups."""
        outputs: Tensor = self.convolve(inputs, self.weight, self.bias, padding="same", groups=self.replicas)
        return outputs


class Perceptron(nn.Module):
    """Linear layers with ReLU between them; returns the outputs.

    Args:
        sizes: of input, hidden layers and output.
        generators: one per replica.
    """

    def __init__(self, sizes: list[int], generators: list[torch.Generator]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(before, after, generators) for before, after in pairwise(sizes))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return ``[R, ..., out_features]``."""
        for layer in self.layers[:-1]:
            inputs = layer(inputs).relu()
        outputs: Tensor = self.layers[-1](inputs)
        return outputs


class PerceptronTeacher(Perceptron):
    """A perceptron that asks something of each of S batches, ``[R, S, B, ...]`` to S of ``[R, B, ...]``."""

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Return what is asked on each batch."""
        return super().forward(inputs).unbind(1)
