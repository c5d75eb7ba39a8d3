"""CIFAR-10 or its stand-in, with some or all training labels redrawn at random (paper, section 3.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.data.cifar10 import cifar10_images, cifar10_is_at_hand
from ilc.data.environments import Environments, Split, check_size
from ilc.data.procedural_images import SIZE, LabelledImages, procedural_images
from ilc.errors import UserError
from ilc.seeding import generator_for

SOURCES = ("auto", "cifar10", "procedural")


def make_labelled_images(
    seed: int = 0,
    data_dir: str = "data",
    source: str = "auto",
    n_environments: int | None = None,
    n_test: int | None = None,
    image_size: int = 32,
    label_noise: float = 0.0,
) -> Environments:
    """Images whose every example is an environment of its own: inputs ``[E, 1, 3, S, S]``, S = image_size.

    Every colour channel has mean 0 and variance 1 over the training images. With label noise the
    training accuracy is also reported for two parts: ``mislabeled``, the examples whose label is not
    the true one, and ``labeled``, the rest. Test labels are always the true ones.

    Args:
        seed: of the labels, of which images are taken, and of the procedural images.
        data_dir: where CIFAR-10 is looked for and downloaded to.
        source: ``cifar10``; ``procedural`` for the embedded stand-in; ``auto`` prefers CIFAR-10 when it
            can be had.
        n_environments: E, training images; None for 50,000.
        n_test: test images; None for 10,000.
        image_size: pixels of a side, a divisor of 32; below 32 the images are averaged over squares.
        label_noise: share of the training labels redrawn, each uniformly from all ten classes, so that
            a tenth of them come out right; 1 makes all labels random.

    Raises:
        UserError: an unknown source, CIFAR-10 that cannot be had, a share outside [0, 1], more images
            than there are.
    """
    if source not in SOURCES:
        raise UserError(f"dataset.source must be one of {', '.join(SOURCES)}, got {source!r}")
    if not 0 <= label_noise <= 1:
        raise UserError(f"dataset.label_noise is a share of the labels, in [0, 1], got {label_noise}")
    n_train = 50_000 if n_environments is None else n_environments
    n_test = 10_000 if n_test is None else n_test
    if n_train < 1 or n_test < 1:
        raise UserError(f"dataset.n_environments and n_test must be at least 1, got {n_train} and {n_test}")
    if image_size < 1 or SIZE % image_size:
        raise UserError(f"dataset.image_size must be a divisor of {SIZE}, got {image_size}")
    check_size("cifar10", (n_train + n_test) * 3 * 32 * 32)
    random = generator_for(seed, "labelled images")
    if source == "cifar10" or (source == "auto" and cifar10_is_at_hand(data_dir)):
        parts, name = cifar10_images(data_dir), "CIFAR-10"
        train, test = (_some(parts[key], n, random) for key, n in (("train", n_train), ("test", n_test)))
    else:
        train, test = procedural_images(n_train, random), procedural_images(n_test, random)
        name = "procedural images (embedded)"
    train, test = _averaged(train, image_size), _averaged(test, image_size)
    inputs = _normalised(train.images, train.images)
    labels = _redrawn(train.labels, label_noise, random)
    wrong = labels != train.labels
    return Environments(
        inputs=inputs.unsqueeze(1),
        targets=labels.unsqueeze(1),
        evaluation={"test": Split(_normalised(test.images, train.images), test.labels)},
        parts={"mislabeled": wrong, "labeled": ~wrong} if 0 < label_noise < 1 else {},
        source=f"{name}, {len(inputs):,} for training",
    )


def _some(part: LabelledImages, n: int, random: torch.Generator) -> LabelledImages:
    if n > len(part.labels):
        raise UserError(f"CIFAR-10 has {len(part.labels)} images in this part, {n} were asked for")
    chosen = torch.randperm(len(part.labels), generator=random)[:n]
    return LabelledImages(part.images[chosen], part.labels[chosen])


def _averaged(part: LabelledImages, image_size: int) -> LabelledImages:
    """Every pixel the mean of a square of pixels, rounded."""
    square = SIZE // image_size
    if square == 1:
        return part
    means = nn.functional.avg_pool2d(part.images.float(), square)
    return LabelledImages(means.round().byte(), part.labels)


def _redrawn(labels: Tensor, share: float, random: torch.Generator) -> Tensor:
    """The labels, exactly that share of them (rounded) drawn anew."""
    chosen = torch.randperm(len(labels), generator=random)[: round(share * len(labels))]
    redrawn = labels.clone()
    redrawn[chosen] = torch.randint(10, (len(chosen),), generator=random)
    return redrawn


def _normalised(images: Tensor, reference: Tensor) -> Tensor:
    """Colours of ``reference`` scaled to mean 0 and variance 1, in float32."""
    pixels = reference.movedim(1, 0).flatten(1)
    mean = torch.stack([channel.double().mean() for channel in pixels]).float()
    deviation = torch.stack([channel.float().std(correction=0) for channel in pixels])
    shape = (1, 3, 1, 1)
    return (images.float() - mean.view(shape)) / deviation.view(shape).clamp_min(1e-6)
