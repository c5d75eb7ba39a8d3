"""Colored MNIST as OoD-Bench's fork of DomainBed divides it (github.com/m-Just/DomainBed)."""

from __future__ import annotations

import torch

from lab.data import Environments, Split
from lab.data.colored_mnist import check_source, digit_images, painted
from lab.data.digits import DigitImages
from lab.machine.seeding import generator_for

LABEL_NOISE = 0.25
COLOR_NOISES, TEST_COLOR_NOISE = (0.1, 0.2), 0.9
TEST_SHARE = 6
"""One image in six belongs to the test environment, 10,000 of MNIST's 60,000 training images."""
HELD_OUT = 0.1
"""The share of each environment that is held out."""


def make_ood_bench(seed: int = 0, data_dir: str = "data", source: str = "auto") -> Environments:
    """Generate two training environments; inputs ``[2, N, 2 * 14 * 14]``, labels 0 and 1.

    All images are MNIST's training images, in random order. The first 50,000 go to the two training
    environments in turn, the others to the test environment. A tenth of each environment is held out:
    ``validation`` is the tenth of both training environments, ``test_held_out`` that of the test environment,
    and ``test`` the rest of it. So N is 22,500. Labels and colours are those of ``lab.data.colored_mnist``.
    One of scikit-learn's digits has ten versions, some of which may be trained on and others held out.

    Args:
        seed: the seed of the order, the label noise and the colours.
        data_dir: the folder in which MNIST is looked for, and to which it is downloaded.
        source: ``mnist``, ``digits`` for the digits of scikit-learn, or ``auto``; see ``make_colored_mnist``.

    Raises:
        UserError: the source is unknown, or MNIST cannot be found or downloaded.
    """
    check_source(source)
    random = generator_for(seed, "ood_bench")
    parts, name = digit_images(source, data_dir, random)
    images = torch.cat([parts[part].images for part in ("train", "validation")])
    digits = torch.cat([parts[part].digits for part in ("train", "validation")])
    order = torch.randperm(len(digits), generator=random)
    images, digits = images[order], digits[order]
    n_train = len(digits) - len(digits) // TEST_SHARE
    n_train -= n_train % len(COLOR_NOISES)

    def split(part: DigitImages, color_noise: float) -> tuple[Split, Split]:
        examples = painted(part, LABEL_NOISE, color_noise, False, random)
        n = int(HELD_OUT * len(examples.targets))
        held_out = Split(examples.inputs[:n], examples.targets[:n])
        return held_out, Split(examples.inputs[n:], examples.targets[n:])

    turns = len(COLOR_NOISES)
    training = [
        split(DigitImages(images[e:n_train:turns], digits[e:n_train:turns]), noise)
        for e, noise in enumerate(COLOR_NOISES)
    ]
    test_held_out, test = split(DigitImages(images[n_train:], digits[n_train:]), TEST_COLOR_NOISE)
    validation = Split(
        torch.cat([held_out.inputs for held_out, _ in training]),
        torch.cat([held_out.targets for held_out, _ in training]),
    )
    return Environments(
        inputs=torch.stack([own.inputs for _, own in training]),
        targets=torch.stack([own.targets for _, own in training]),
        evaluation={"validation": validation, "test": test, "test_held_out": test_held_out},
        references={"best/accuracy": 1 - LABEL_NOISE},
        source=name,
    )
