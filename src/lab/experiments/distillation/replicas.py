"""Networks of R replicas that train together in one program, one for each seed and training set size.

The first axis of all inputs and outputs is the replica, ``[R, N, ...]``. No replica influences another.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Module):
    """R linear layers, ``[R, ..., in_features]`` to ``[R, ..., out_features]``, initialised as in PyTorch.

    Args:
        in_features: features of the input.
        out_features: features of the output.
        generators: one generator per replica.
        weight_norm: whether each unit's weights are a separate length and direction (Salimans and Kingma
            2016).
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
        else:  # The outputs are scaled and not the weights, because they are fewer.
            scale = self.length * (self.weight * self.weight).sum(1, keepdim=True).rsqrt()
            flat = torch.addcmul(self.bias, flat @ self.weight, scale)
        return flat.reshape(*inputs.shape[:-1], -1)


class Convolution(nn.Module):
    """R convolutions with "same" padding over one or two dimensions, initialised as in PyTorch.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        generators: one generator per replica.
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
        """Map ``[N, R * in_channels, ...]`` to ``[N, R * out_channels, ...]``; each replica is a group."""
        outputs: Tensor = self.convolve(inputs, self.weight, self.bias, padding="same", groups=self.replicas)
        return outputs


class Perceptron(nn.Module):
    """Linear layers with ReLU between them.

    Args:
        sizes: sizes of the input, the hidden layers and the output.
        generators: one generator per replica.
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
    """A perceptron as a teacher: it maps S batches ``[R, S, B, ...]`` to S signals ``[R, B, ...]``."""

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Return the signal for each batch."""
        return super().forward(inputs).unbind(1)
