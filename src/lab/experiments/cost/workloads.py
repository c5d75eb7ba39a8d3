"""What is timed: networks and batches of random data of their shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lab.experiments.cost.transformer import LENGTH, TOKENS, Transformer
from lab.models import MLP, FastResNet


class Workload(NamedTuple):
    """A network with the batches it is timed on.

    Attributes:
        model: makes it.
        shape: of one example.
        n_classes: of the labels.
        grid: pairs of E environments and N examples in each; N = 1 is a vote per example.
        weighed: those of the pairs whose memory is measured too, in a process per row.
        steps: timed steps per way, unless asked otherwise.
        without: ways left out, as they have nothing to say or cost what they cost elsewhere.
    """

    model: Callable[[], nn.Module]
    shape: tuple[int, ...]
    n_classes: int
    grid: tuple[tuple[int, int], ...]
    weighed: tuple[tuple[int, int], ...]
    steps: int
    without: tuple[str, ...] = ()


# One backward pass per example through a convolutional network takes a minute, with either norm the same.
_SLOW = ("per_example_loss", "authors' loop", "TorchJD")

WORKLOADS: dict[str, Workload] = {
    "perceptron 3 x 256": Workload(
        lambda: MLP(34, 2),
        (34,),
        2,
        ((32, 4), (32, 16), (32, 64), (32, 256), (128, 16), (512, 16)),
        ((32, 16), (512, 16)),
        20,
    ),
    "perceptron 784-1024-1024-10": Workload(
        lambda: nn.Sequential(
            nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
        ),
        (784,),
        10,
        ((128, 1),),
        ((128, 1),),
        30,
    ),
    "FastResNet, BatchNorm": Workload(
        lambda: FastResNet(3, 10, norm="batch"), (3, 32, 32), 10, ((80, 1),), ((80, 1),), 7
    ),
    "FastResNet, GroupNorm": Workload(
        lambda: FastResNet(3, 10, norm="group"), (3, 32, 32), 10, ((80, 1),), ((80, 1),), 5, _SLOW
    ),
    "transformer": Workload(Transformer, (LENGTH,), 10, ((64, 1),), ((64, 1),), 10),
}


def model_of(name: str, device: str) -> Any:
    """The network, the same at every call."""
    torch.manual_seed(0)
    return WORKLOADS[name].model().to(device)


def batch(name: str, n_environments: int, n_examples: int, device: str) -> tuple[Tensor, Tensor]:
    """Random inputs ``[E, N, ...]`` and labels ``[E, N]``."""
    workload, size = WORKLOADS[name], (n_environments, n_examples)
    if name == "transformer":
        inputs = torch.randint(0, TOKENS, (*size, *workload.shape))
    else:
        inputs = torch.randn(*size, *workload.shape)
    return inputs.to(device), torch.randint(0, workload.n_classes, size).to(device)
