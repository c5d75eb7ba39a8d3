"""Real images of ten classes, with some or all training labels redrawn at random (paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data.cifar10 import cifar10_images, cifar10_is_at_hand
from lab.data.cifar10_jpeg import cifar10_jpeg_images, cifar10_jpeg_is_at_hand
from lab.data.environments import Environments, Split
from lab.data.fashion_mnist import embedded_images, fashion_mnist_images, fashion_mnist_is_at_hand
from lab.data.images import N_CLASSES, LabelledImages, PixelScale, averaged
from lab.machine.seeding import generator_for

NAMES = {
    "cifar10": "CIFAR-10",
    "cifar10_jpeg": "CIFAR-10 (JPEG copy)",
    "fashion_mnist": "Fashion-MNIST",
    "embedded": "Fashion-MNIST (the part that is embedded)",
}
"""The name of each source in runs, tables and figures."""
SOURCES = ("auto", *NAMES)

_READ: dict[str, Callable[[str], dict[str, LabelledImages]]] = {
    "cifar10": cifar10_images,
    "cifar10_jpeg": cifar10_jpeg_images,
    "fashion_mnist": fashion_mnist_images,
    "embedded": lambda data_dir: embedded_images(),
}
_SECONDS_TO_DECIDE = 4.0
"""The limit for each of two servers, so that ``auto`` decides within ten seconds."""


def make_labelled_images(
    seed: int = 0,
    data_dir: str = "data",
    source: str = "auto",
    n_environments: int | None = None,
    n_test: int | None = None,
    image_size: int | None = None,
    label_noise: float = 0.0,
) -> Environments:
    """Return images of which each is an environment of its own: inputs ``[E, 1, C, S, S]``, S = image_size.

    The inputs are bytes. Each batch is scaled so that every channel has mean 0 and variance 1 over the
    training images. Deviation: the authors' code scales with the numbers of ImageNet, and the paper names
    none.

    With label noise, the training accuracy is also reported for two parts. The part ``mislabeled`` holds
    the examples whose label is not the true one; ``labeled`` holds the rest. Test labels are always the true
    ones.

    Args:
        seed: the seed of the random labels and of the choice of images.
        data_dir: the folder in which the files are looked for, and to which they are downloaded.
        source: ``cifar10``; ``cifar10_jpeg``, a JPEG copy of it; ``fashion_mnist``, in grey; ``embedded``, a
            part of Fashion-MNIST that comes with the project; ``auto`` takes the first of these that is there
            or can be downloaded.
        n_environments: E, the number of training images; None takes all that the source has.
        n_test: the number of test images; None takes all.
        image_size: the number of pixels on a side, which must divide the source's. The images are averaged
            over squares. None takes the images as they are.
        label_noise: the share of the training labels that are redrawn. Each is drawn uniformly from all ten
            classes, so a tenth of them are the true labels again. 1 makes all labels random.

    Raises:
        UserError: the source is unknown, its files cannot be found or downloaded, a share lies outside
            [0, 1], more images are asked for than there are, or ``image_size`` does not divide the source's.
    """
    if source not in SOURCES:
        raise UserError(f"dataset.source must be one of {', '.join(SOURCES)}, got {source!r}")
    if not 0 <= label_noise <= 1:
        raise UserError(f"dataset.label_noise must be a share of the labels in [0, 1], got {label_noise}")
    for key, n in (("n_environments", n_environments), ("n_test", n_test)):
        if n is not None and n < 1:
            raise UserError(f"dataset.{key} must be at least 1, or null for all images, got {n}")
    random = generator_for(seed, "labelled images")
    source = _first_at_hand(data_dir) if source == "auto" else source
    parts = _READ[source](data_dir)
    train = _some(parts["train"], n_environments, "n_environments", source, random)
    test = _some(parts["test"], n_test, "n_test", source, random)
    if image_size is not None:
        train, test = averaged(train, image_size), averaged(test, image_size)
    scale = PixelScale.of(train.images)
    labels = _redrawn(train.labels, label_noise, random)
    wrong = labels != train.labels
    return Environments(
        inputs=train.images.unsqueeze(1),
        targets=labels.unsqueeze(1),
        evaluation={"test": Split(test.images, test.labels, scale=scale)},
        parts={"mislabeled": wrong, "labeled": ~wrong} if 0 < label_noise < 1 else {},
        source=f"{NAMES[source]}, {len(labels):,} for training",
        scale=scale,
    )


def _first_at_hand(data_dir: str) -> str:
    """Return the source that ``auto`` takes: the first of ``NAMES`` that is there or can be downloaded."""
    if cifar10_is_at_hand(data_dir, _SECONDS_TO_DECIDE):
        return "cifar10"
    if cifar10_jpeg_is_at_hand(data_dir):
        return "cifar10_jpeg"
    return "fashion_mnist" if fashion_mnist_is_at_hand(data_dir, _SECONDS_TO_DECIDE) else "embedded"


def _some(
    part: LabelledImages, n: int | None, key: str, source: str, random: torch.Generator
) -> LabelledImages:
    """Return ``n`` of the images in random order; None returns all."""
    there = len(part.labels)
    if n is not None and n > there:
        raise UserError(
            f"dataset.{key}={n} is more than the {there} images that {NAMES[source]} has: choose at most "
            f"{there}"
        )
    chosen = torch.randperm(there, generator=random)[:n]
    return LabelledImages(part.images[chosen], part.labels[chosen])


def _redrawn(labels: Tensor, share: float, random: torch.Generator) -> Tensor:
    """Return the labels with exactly that share of them (rounded to whole examples) redrawn."""
    chosen = torch.randperm(len(labels), generator=random)[: round(share * len(labels))]
    redrawn = labels.clone()
    redrawn[chosen] = torch.randint(N_CLASSES, (len(chosen),), generator=random)
    return redrawn
