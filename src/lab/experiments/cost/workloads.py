"""The networks that are timed, and batches of random data for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lab.experiments.cost.transformer import LENGTH, TOKENS, Transformer
from lab.machine.transformers_import import import_transformers
from lab.models import MLP, FastResNet, ResNet18


class Workload(NamedTuple):
    """A network and the batches that it is timed on.

    Attributes:
        model: the function that makes the network.
        shape: the shape of one example.
        n_classes: the number of classes of the labels.
        grid: pairs of E environments and N examples in each; N = 1 is a vote per example.
        weighed: the pairs for which memory is measured too, in a process of its own for each row.
        steps: the number of timed steps per way, unless the caller asks for another.
        without: the ways that are left out, because they have nothing to say here or cost the same as
            elsewhere.
        vocabulary: the number of tokens, if the inputs are tokens; 0 if they are real numbers.
        of_target: the shape of one example's target; () is one label.
    """

    model: Callable[[], nn.Module]
    shape: tuple[int, ...]
    n_classes: int
    grid: tuple[tuple[int, int], ...]
    weighed: tuple[tuple[int, int], ...]
    steps: int
    without: tuple[str, ...] = ()
    vocabulary: int = 0
    of_target: tuple[int, ...] = ()


# One backward pass per example through a convolutional network takes a minute. Both norms take the same time.
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
    "transformer": Workload(Transformer, (LENGTH,), 10, ((64, 1),), ((64, 1),), 10, vocabulary=TOKENS),
    **{
        f"FastResNet {width}, BatchNorm": Workload(
            partial(FastResNet, 3, 10, width, "batch"), (3, 32, 32), 10, ((80, 1),), ((80, 1),), 20, _SLOW
        )
        for width in (8, 16)
    },
    "ResNet-18": Workload(partial(ResNet18, 3, 10), (3, 32, 32), 10, ((3, 8),), ((3, 8),), 10, ("TorchJD",)),
}


def of_transformers() -> dict[str, Workload]:
    """Return the networks of ``hugging_face``, which need the extra ``transformers``.

    Raises:
        UserError: transformers or peft is not installed.
    """
    import_transformers("the measurement transformers")
    from lab.experiments.cost import hugging_face  # It imports this module.

    return hugging_face.WORKLOADS


def workload_of(name: str) -> Workload:
    """Return a network of this module or of ``hugging_face``."""
    return WORKLOADS[name] if name in WORKLOADS else of_transformers()[name]


def votes_of(n_examples: int) -> str:
    """Return the way that users are told to take: per example for N = 1, else the default."""
    return "per_example" if n_examples == 1 else "vectorized"


def model_of(name: str, device: str) -> Any:
    """Return the network. It has the same weights at every call."""
    torch.manual_seed(0)
    return workload_of(name).model().to(device)


def batch(name: str, n_environments: int, n_examples: int, device: str) -> tuple[Tensor, Tensor]:
    """Return random inputs ``[E, N, ...]`` and labels ``[E, N]``, or ``[E, N, T]`` if each word has one."""
    return batch_for(workload_of(name), n_environments, n_examples, device)


def batch_for(workload: Workload, n_environments: int, n_examples: int, device: str) -> tuple[Tensor, Tensor]:
    """Return a batch as ``batch`` does, for a network that need not be in ``WORKLOADS``."""
    size = (n_environments, n_examples)
    if workload.vocabulary:
        inputs = torch.randint(0, workload.vocabulary, (*size, *workload.shape))
    else:
        inputs = torch.randn(*size, *workload.shape)
    targets = torch.randint(0, workload.n_classes, (*size, *workload.of_target))
    return inputs.to(device), targets.to(device)
