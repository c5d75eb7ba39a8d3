"""Bytes stay bytes, and what a model sees of them has mean 0 and variance 1 in every channel."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ilc.objectives import RISKS
from lab.data import (
    AnyEnvironmentBatches,
    EnvironmentBatches,
    Environments,
    ExampleBatches,
    OneEnvironmentBatches,
    Split,
    make_labelled_images,
)
from lab.data.images import LabelledImages, PixelScale, averaged
from lab.environment_task.evaluation import evaluate
from lab.environment_task.methods.irm_penalty import evaluate_penalty, slope


def random_images(n: int = 12, channels: int = 3, side: int = 4) -> Tensor:
    # Another mean and spread in every channel.
    images = torch.randint(0, 100, (n, channels, side, side), dtype=torch.uint8)
    return images * torch.arange(1, channels + 1, dtype=torch.uint8)[:, None, None] // 2 + 7


def scaled_plainly(image: Tensor, images: Tensor) -> Tensor:
    """One image ``[C, S, S]`` by the definition, with Python's own numbers."""
    channels = []
    for c in range(images.shape[1]):
        values = [float(value) for value in images[:, c].flatten()]
        mean, deviation = statistics.fmean(values), statistics.pstdev(values)
        channels.append([[(float(value) - mean) / deviation for value in row] for row in image[c]])
    return torch.tensor(channels)


def environments(images: Tensor, shape: tuple[int, int]) -> Environments:
    """Training images, and half of them inverted as test images."""
    scale = PixelScale.of(images)
    targets = torch.arange(len(images)) % 10
    test = Split(255 - images[::2], targets[::2], scale=scale)
    parts = {"even": targets % 2 == 0}
    return Environments(
        images.view(*shape, *images.shape[1:]), targets.view(shape), {"test": test}, parts=parts, scale=scale
    )


def test_against_plain_numbers() -> None:
    images = random_images()
    scale = PixelScale.of(images)
    for image in (images[0], images[7], 255 - images[3]):
        assert torch.allclose(scale(image), scaled_plainly(image, images), atol=1e-5)
    assert scale(images).dtype == torch.float32


def test_channels_of_one_colour_stay_finite() -> None:
    images = torch.full((3, 2, 4, 4), 200, dtype=torch.uint8)
    assert torch.equal(PixelScale.of(images)(images), torch.zeros(3, 2, 4, 4))


@pytest.mark.parametrize("source", [{"source": "embedded", "image_size": 14}, {"source": "embedded"}])
def test_the_training_images_have_mean_0_and_variance_1(source: dict[str, Any]) -> None:
    data = make_labelled_images(n_environments=1000, n_test=50, **source)
    assert data.inputs.dtype == data.evaluation["test"].inputs.dtype == torch.uint8
    assert data.inputs_are == "images"
    (inputs, _), *others = ExampleBatches(data, None, torch.Generator())
    assert not others
    channels = inputs[:, 0].movedim(1, 0).flatten(1).double()
    assert channels.mean(1).abs().max() < 1e-5
    assert (channels.var(1, correction=0) - 1).abs().max() < 1e-5
    # Test images have the scale of the training images, and not one of their own.
    test = data.evaluation["test"]
    expected = (test.inputs.double() - data.inputs.double().mean()) / data.inputs.double().std(correction=0)
    assert torch.allclose(test.prepared(test.inputs).double(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "shape", "size"),
    [
        (ExampleBatches, (12, 1), 5),
        (AnyEnvironmentBatches, (12, 1), 4),
        (AnyEnvironmentBatches, (3, 4), 12),
        (EnvironmentBatches, (3, 4), 3),
        (EnvironmentBatches, (3, 4), None),
        (OneEnvironmentBatches, (3, 4), 2),
        (OneEnvironmentBatches, (3, 4), None),
    ],
)
def test_all_batches_are_scaled(kind: Any, shape: tuple[int, int], size: int | None) -> None:
    images = random_images()
    data = environments(images, shape)
    plain = {tuple(scaled_plainly(image, images).flatten().tolist()): i for i, image in enumerate(images)}
    known = torch.tensor(list(plain))
    n = 0
    for inputs, targets in kind(data, size, torch.Generator()):
        assert inputs.dtype == torch.float32
        assert inputs.shape[:2] == targets.shape
        for x, y in zip(inputs.flatten(0, 1), targets.flatten(), strict=True):
            (which,) = torch.nonzero((known - x.flatten()).abs().amax(1) < 1e-4).flatten().tolist()
            assert which % 10 == int(y)
            n += 1
    assert n >= 6
    assert data.inputs.dtype == torch.uint8


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(48, 10))


def test_evaluation_and_the_penalty_are_of_scaled_images() -> None:
    images = random_images()
    data = environments(images, (3, 4))
    model, risk = linear(), RISKS["cross_entropy"]
    test = data.evaluation["test"]
    for split in (data.pooled(), test, test.spread(3), data.pooled().spread(5)):
        plain = torch.stack([scaled_plainly(image, images) for image in split.inputs])
        expected = evaluate(model, Split(plain, split.targets, split.parts), risk)
        assert evaluate(model, split, risk) == pytest.approx(expected, rel=1e-4)
        assert evaluate(model, Split(split.inputs.float(), split.targets), risk)["loss"] != pytest.approx(
            expected["loss"], rel=0.01
        )
    plain = torch.stack([scaled_plainly(image, images) for image in images]).view(3, 4, -1)
    slopes = [slope(model(x), y, risk) for x, y in zip(plain, data.targets, strict=True)]
    expected_penalty = float(torch.stack(slopes).detach().square().mean())
    assert evaluate_penalty(model, data, risk) == pytest.approx(expected_penalty, rel=1e-3)


def test_the_scale_stays_with_what_is_made_from_the_data() -> None:
    data = environments(random_images(), (3, 4))
    scale = data.scale
    assert scale is not None
    moved = data.to(torch.device("cpu"))
    for made in (
        moved,
        moved.evaluation["test"],
        data.pooled(),
        data.pooled().spread(5),
        data.evaluation["test"].to(torch.device("cpu")),
        data.evaluation["test"].spread(2),
    ):
        assert made.scale is not None
        assert torch.equal(made.scale.mean, scale.mean)
        assert torch.equal(made.scale.deviation, scale.deviation)
        assert made.inputs.dtype == torch.uint8
    # On another device the scale goes along with what it is applied to.
    elsewhere = torch.device("meta")
    assert data.to(elsewhere).scale.mean.device == elsewhere  # type: ignore[union-attr]
    assert data.evaluation["test"].to(elsewhere).scale.mean.device == elsewhere  # type: ignore[union-attr]
    assert data.prepared(torch.zeros(1, 3, 4, 4, dtype=torch.uint8, device=elsewhere)).device == elsewhere


def test_data_without_a_scale_stays_as_it_is() -> None:
    inputs = torch.randint(0, 256, (2, 3, 3, 8, 8), dtype=torch.uint8)
    data = Environments(inputs, torch.zeros(2, 3), {"test": Split(inputs[0], torch.zeros(3))})
    assert data.prepared(inputs) is inputs
    assert data.inputs_are == "images of bytes"
    ((batch, _),) = EnvironmentBatches(data, None, torch.Generator())
    assert torch.equal(batch, inputs)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_smaller_images_are_means_of_squares(size: int) -> None:
    whole = LabelledImages(random_images(5), torch.arange(5))
    small = averaged(whole, size)
    assert small.images.shape == (5, 3, size, size)
    assert small.images.dtype == torch.uint8
    assert torch.equal(small.labels, whole.labels)
    square = 4 // size
    for i in range(5):
        for channel in range(3):
            for row in range(size):
                for column in range(size):
                    rows = slice(row * square, (row + 1) * square)
                    columns = slice(column * square, (column + 1) * square)
                    values = [int(value) for value in whole.images[i, channel, rows, columns].flatten()]
                    assert abs(int(small.images[i, channel, row, column]) - statistics.fmean(values)) <= 0.5
