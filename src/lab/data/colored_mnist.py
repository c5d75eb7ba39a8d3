"""Colored MNIST: the digit predicts the label in every environment, the colour only in some.

The source is Arjovsky et al., Invariant Risk Minimization, section 5.2. The label says whether the digit is
below 5, and is flipped with probability 0.25. The colour disagrees with this label with probability 0.2 and
0.1 in the training environments, and with probability 0.9 in the test environment. A prediction by colour is
right for 85 % of the training examples and 10 % of the test examples. A prediction by digit is right for 75 %
of the examples everywhere.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data.digits import DigitImages, embedded_digits
from lab.data.environments import Environments, Split
from lab.data.mnist import mnist_digits, mnist_is_at_hand
from lab.machine.seeding import generator_for

SOURCES = ("auto", "mnist", "digits")


def make_colored_mnist(
    seed: int = 0,
    data_dir: str = "data",
    source: str = "auto",
    n_environments: int = 2,
    examples_per_environment: int | None = None,
    label_noise: float = 0.25,
    largest_color_noise: float = 0.2,
    smallest_color_noise: float = 0.1,
    validation_color_noise: float = 0.5,
    test_color_noise: float = 0.9,
    grayscale: bool = False,
) -> Environments:
    """Generate the environments; inputs ``[E, N, 2 * 14 * 14]``, labels 0 and 1.

    Every original image belongs to one environment only. The evaluation splits are ``train_cP`` for each
    training environment with colour noise P, ``validation`` and ``test``. If two environments have the same
    P in three digits, the splits are ``train_cP_E0``, ``train_cP_E1`` and so on.

    Args:
        seed: the seed of the split, the label noise, the colours and the order of the examples.
        data_dir: the folder in which MNIST is looked for, and to which it is downloaded.
        source: ``mnist``; ``digits`` for the digits of scikit-learn; ``auto`` takes MNIST where the files are
            there or can be downloaded, and else the digits.
        n_environments: E; colour noise falls linearly from the first to the last.
        examples_per_environment: N; None takes all examples that there are.
        label_noise: probability that a label is flipped.
        largest_color_noise: probability that the colour disagrees with the label in environment 1.
        smallest_color_noise: the same probability in environment E.
        validation_color_noise: the same probability in the validation environment. Deviation: the
            reimplementation proposes a fourth environment and leaves its colours open. At 0.5 the colours
            hold no information about the label.
        test_color_noise: the same probability in the test environment.
        grayscale: leave the colour out, so that the inputs are ``[E, N, 14 * 14]``. A network trained on them
            is the oracle, which cannot use the colour.

    Raises:
        UserError: the source is unknown, MNIST cannot be found or downloaded, a probability lies outside
            [0, 1], or more examples or environments are asked for than there are images.
    """
    noises = (
        label_noise,
        largest_color_noise,
        smallest_color_noise,
        validation_color_noise,
        test_color_noise,
    )
    check_source(source)
    if not all(0 <= noise <= 1 for noise in noises) or n_environments < 1:
        raise UserError(
            "dataset.label_noise and dataset.*_color_noise must be probabilities in [0, 1], and "
            f"dataset.n_environments at least 1, got {label_noise}, {noises[1:]} and {n_environments}"
        )
    random = generator_for(seed, "colored_mnist")
    parts, name = digit_images(source, data_dir, random)

    def paint(part: DigitImages, color_noise: float, n: int | None = None) -> Split:
        return painted(part, label_noise, color_noise, grayscale, random, n)

    train = parts["train"]
    per_environment = len(train.digits) // n_environments
    if not per_environment:
        raise UserError(
            f"dataset.n_environments must be at most {len(train.digits)}, the number of training images of "
            f"{name}, got {n_environments}"
        )
    available = per_environment * train.images.shape[1]
    n = available if examples_per_environment is None else examples_per_environment
    if not 1 <= n <= available:
        raise UserError(
            f"dataset.examples_per_environment must lie between 1 and {available} with {n_environments} "
            f"environments of {name}, got {n}"
        )
    fractions = torch.linspace(0, 1, n_environments).tolist()
    color_noises = [
        largest_color_noise + fraction * (smallest_color_noise - largest_color_noise)
        for fraction in fractions
    ]
    training = [
        paint(DigitImages(*(values[e::n_environments][:per_environment] for values in train)), noise, n)
        for e, noise in enumerate(color_noises)
    ]
    names = [f"train_c{noise:.3g}" for noise in color_noises]
    if len(set(names)) < n_environments:  # Else one environment would take the place of another.
        names = [f"{name}_E{e}" for e, name in enumerate(names)]
    evaluation = dict(zip(names, training, strict=True))
    evaluation["validation"] = paint(parts["validation"], validation_color_noise)
    evaluation["test"] = paint(parts["test"], test_color_noise)
    return Environments(
        inputs=torch.stack([split.inputs for split in training]),
        targets=torch.stack([split.targets for split in training]),
        evaluation=evaluation,
        references={"best/accuracy": max(label_noise, 1 - label_noise)},
        source=name,
    )


def check_source(source: str) -> None:
    """Raise UserError if the source of digits is unknown."""
    if source not in SOURCES:
        raise UserError(f"dataset.source must be one of {', '.join(SOURCES)}, got {source!r}")


def digit_images(source: str, data_dir: str, random: torch.Generator) -> tuple[dict[str, DigitImages], str]:
    """Return the parts ``train``, ``validation`` and ``test`` of a source, and the name of coloured images.

    Raises:
        UserError: MNIST cannot be found or downloaded.
    """
    if source == "mnist" or (source == "auto" and mnist_is_at_hand(data_dir)):
        return mnist_digits(data_dir, random), "Colored MNIST (MNIST through torchvision)"
    return embedded_digits(random), "colored digits (scikit-learn)"


def painted(
    part: DigitImages,
    label_noise: float,
    color_noise: float,
    grayscale: bool,
    random: torch.Generator,
    n: int | None = None,
) -> Split:
    """Label and colour all versions of all images in random order, and return the first ``n`` of them."""
    m, copies = part.images.shape[:2]
    order = torch.randperm(m * copies, generator=random)[:n]
    images = part.images.flatten(0, 1)[order].flatten(1)
    digits = part.digits.repeat_interleave(copies)[order]
    labels = (digits < 5).long() ^ _flips(len(order), label_noise, random)
    colors = labels ^ _flips(len(order), color_noise, random)
    if grayscale:
        return Split(images, labels)
    # The channel of the other colour stays black.
    channels = torch.zeros(len(order), 2, images.shape[1])
    channels[torch.arange(len(order)), colors] = images
    return Split(channels.flatten(1), labels)


def _flips(n: int, probability: float, random: torch.Generator) -> Tensor:
    return (torch.rand(n, generator=random) < probability).long()
