"""Networks that are trained on Colored MNIST, and how far their environments' gradients agree on the colour.

A pixel has two inputs, one per channel. Their sum over the root of 2 is the image, whatever its colour.
Their difference is the image with the sign of its colour. So the first layer's weights have two parts in the
basis of sums and differences: those on the shape, and those on the colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import backward, irm_penalty
from ilc.aggregators import Aggregator, AndMask, Mean, MeanOfEnvironments
from ilc.objectives import PenaltySchedule
from lab.data import Environments, make_colored_mnist
from lab.experiments.irm.color_votes import (
    FIRST_NOISE,
    LABEL_NOISE,
    METHODS,
    STEPS,
    STEPS_SEEN,
    TEST_NOISE,
)
from lab.machine.seeding import seed_for
from lab.models import MLP

HIDDEN_UNITS = 32
IRM_WEIGHT, IRM_JUMP = 91257.18613115903, 50
"""The weight of the penalty, which is the IRM authors', and the step at which it jumps there from 1."""


def environments(second_noise: float, seed: int, n: int, source: str, data_dir: str) -> Environments:
    """Return two training environments of ``n`` images; the second one has the colour noise given."""
    return make_colored_mnist(
        seed,
        data_dir,
        source,
        examples_per_environment=n,
        label_noise=LABEL_NOISE,
        largest_color_noise=FIRST_NOISE,
        smallest_color_noise=second_noise,
        test_color_noise=TEST_NOISE,
    )


def apart(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return shape and colour, each ``[..., D]``, of inputs or of a weight's gradient ``[..., 2 D]``."""
    first, second = values.chunk(2, dim=-1)
    return (first + second) / 2**0.5, (first - second) / 2**0.5


def presented(inputs: Tensor, method: str) -> Tensor:
    """Return inputs ``[..., 2 D]`` in the form in which the networks of a method receive them."""
    form = METHODS[method].inputs
    if form == "pixels":
        return inputs
    shape, color = apart(inputs)
    return shape if form == "gray" else torch.cat([shape, color], -1)


def trained_networks(method: str, data: Environments, seed: int) -> Iterator[tuple[int, nn.Module, float]]:
    """Train one network with full batches, and yield it at every step of ``STEPS_SEEN``.

    Yields:
        The number of steps so far, the network, and the share of components that the last step kept (NaN
        before the first one). It is one network that changes.
    """
    inputs = presented(data.inputs, method)
    with torch.random.fork_rng():
        torch.manual_seed(seed_for(seed, "color_networks"))
        network = MLP(inputs.shape[-1], 2, HIDDEN_UNITS, hidden_layers=2)
    adam = torch.optim.Adam(network.parameters(), lr=METHODS[method].lr)
    kept = float("nan")
    yield 0, network, kept
    for step in range(STEPS):
        aggregator, loss = _method(method, step)
        result = backward(network, loss, inputs, data.targets, aggregator)
        adam.step()
        if step + 1 in STEPS_SEEN:
            yield step + 1, network, float(result.overall_kept_share)


def _method(method: str, step: int) -> tuple[Aggregator, partial[Tensor]]:
    if method == "irm_penalty":
        weight = PenaltySchedule("step", IRM_WEIGHT, IRM_JUMP, 1.0)(step)
        return MeanOfEnvironments(), partial(_irm_loss, weight)
    return AndMask(1.0) if method.startswith("and_mask") else Mean(), partial(F.cross_entropy)


def _irm_loss(weight: float, logits: Tensor, targets: Tensor) -> Tensor:
    """Return risk and penalty, divided by a weight above 1 as the IRM authors do."""
    penalty = irm_penalty(logits, targets, F.cross_entropy)
    return (F.cross_entropy(logits, targets) + weight * penalty) / max(weight, 1.0)


def agreeing(network: nn.Module, data: Environments, method: str) -> dict[str, float]:
    """Return the share of the first layer's components in which the signs of both environments agree.

    The components are those of the weights on the shape (``kept_shape``) and on the colour (``kept_color``),
    also if the network takes pixels. So the shares say what the AND-mask at threshold 1 would keep of either
    part if it were given shape and colour apart. Components without a gradient, at the rim of the images, do
    not count. ``kept_color`` is NaN for grey images.
    """
    weight = next(network.parameters())
    of_each = []
    for inputs, targets in zip(presented(data.inputs, method), data.targets, strict=True):
        risk = F.cross_entropy(network(inputs), targets)
        of_each.append(torch.autograd.grad(risk, weight)[0])
    gradients = torch.stack(of_each)
    form = METHODS[method].inputs
    if form == "gray":
        return {"kept_shape": _agreement(gradients), "kept_color": float("nan")}
    shape, color = apart(gradients) if form == "pixels" else gradients.chunk(2, dim=-1)
    return {"kept_shape": _agreement(shape), "kept_color": _agreement(color)}


def _agreement(gradients: Tensor) -> float:
    """Return the share of components of two gradients ``[2, ...]`` with equal signs; zeros do not count."""
    product = gradients.prod(0)
    return float((product > 0).sum() / (product != 0).sum())


@torch.no_grad()
def behaviour(network: nn.Module, data: Environments, method: str) -> dict[str, float]:
    """Return accuracies, and the share of test images whose predicted label changes with their colour."""
    test = data.evaluation["test"]
    other_color = torch.cat(test.inputs.chunk(2, dim=-1)[::-1], -1)
    predicted, turned = (
        network(presented(inputs, method)).argmax(-1) for inputs in (test.inputs, other_color)
    )
    train = network(presented(data.inputs, method)).argmax(-1) == data.targets
    return {
        "train/accuracy": float(train.double().mean()),
        "test/accuracy": float((predicted == test.targets).double().mean()),
        "follows_color": float((predicted != turned).double().mean()),
    }
