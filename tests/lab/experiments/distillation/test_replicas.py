"""Replicas do not see each other: each is the network that it would be alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lab.experiments.distillation.mujoco_teacher import TrajectoryTeacher
from lab.experiments.distillation.replicas import Convolution, Linear, Perceptron
from lab.machine.seeding import generator_for


def generators(*seeds: int) -> list[torch.Generator]:
    return [generator_for(seed, "test") for seed in seeds]


@pytest.mark.parametrize("weight_norm", [False, True])
def test_each_linear_layer_is_pytorchs(weight_norm: bool) -> None:
    layer = Linear(5, 3, generators(0, 1), weight_norm=weight_norm)
    inputs = torch.randn(2, 4, 7, 5)
    for replica in range(2):
        alone = nn.functional.linear(inputs[replica], layer.weight[replica].T, layer.bias[replica, 0])
        torch.testing.assert_close(layer(inputs)[replica], alone)


def test_the_length_of_a_units_weights_is_its_own_parameter() -> None:
    layer = Linear(5, 3, generators(0), weight_norm=True)
    inputs = torch.randn(1, 4, 5)
    with torch.no_grad():
        before = layer(inputs) - layer.bias
        layer.weight *= 3.0  # A direction alone.
        torch.testing.assert_close(layer(inputs) - layer.bias, before)
        layer.length *= 2.0
        torch.testing.assert_close(layer(inputs) - layer.bias, 2 * before)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_each_convolution_is_pytorchs(dimensions: int) -> None:
    layer = Convolution(3, 4, generators(0, 1), dimensions=dimensions)
    inputs = torch.randn(6, 2, 3, *[8] * dimensions)
    convolve = nn.functional.conv1d if dimensions == 1 else nn.functional.conv2d
    outputs = layer(inputs.flatten(1, 2)).unflatten(1, (2, 4))
    for replica in range(2):
        rows = slice(4 * replica, 4 * replica + 4)
        alone = convolve(inputs[:, replica], layer.weight[rows], layer.bias[rows], padding=1)
        torch.testing.assert_close(outputs[:, replica], alone)


def test_a_replica_begins_as_it_would_alone() -> None:
    together, alone = Perceptron([4, 8, 2], generators(0, 7)), Perceptron([4, 8, 2], generators(7))
    for both, one in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(both[1], one[0])


def test_teachers_of_trajectories_see_one_batch_and_one_replica() -> None:
    teacher = TrajectoryTeacher(3, 4, [5, 6], 7, [2, 3], generators(0, 1))
    privileged = torch.randn(2, 3, 10, 4, 3)

    def signals(values: Tensor) -> list[list[Tensor]]:
        result: list[list[Tensor]] = teacher(values)
        return result

    whole = signals(privileged)
    assert [tuple(layer.shape) for layer in whole[0]] == [(2, 10, 2, 2), (2, 10, 2, 3)]
    changed = privileged.clone()
    changed[0, 1] += 1.0  # Another batch and another replica stay as they are.
    for step, (before, after) in enumerate(zip(whole, signals(changed), strict=True)):
        for one, other in zip(before, after, strict=True):
            torch.testing.assert_close(one[1], other[1])
            assert torch.allclose(one[0], other[0]) == (step != 1)
