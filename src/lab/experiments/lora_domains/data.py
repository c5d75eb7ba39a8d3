"""Digits as sequences of tokens, with one more token that gives the label away in every training domain."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data import Environments, Split
from lab.machine.seeding import generator_for

N_DOMAINS, SIZE = 8, 8
N_PRETRAINING, N_VALIDATION, N_TEST = 297, 300, 400
"""Images for pretraining, for the held-out domain and for the test; 800 are left for the training domains."""
IMAGE_SCALE = 0.3
"""The images are quiet and the codes are loud, so that the code is the easier cue."""


def make_lora_domains(
    seed: int = 0, examples_per_environment: int = 100, code_scale: float = 3.0, random_codes: bool = False
) -> Environments:
    """Divide scikit-learn's digits into domains; inputs ``[8, N, 9, 8]``, label 1 for odd digits, else 0.

    The first eight tokens are the rows of the image. The ninth token is a code. Each domain has a direction
    ``[8]`` of its own for its codes, at a right angle to those of the others. In training the code points
    forward where the label is 1 and backward where it is 0. The split ``validation`` is a held-out domain:
    each code has the direction of a random training domain and points forward or backward at random. In
    ``test`` the codes are turned: they point backward where the label is 1. ``no_code`` are the images of
    ``test`` without code.

    Args:
        seed: the seed of the codes and of the order of the images. The images for pretraining are the same
            for each seed, and none of them is here.
        examples_per_environment: N, the number of images of each domain.
        code_scale: the length of the codes.
        random_codes: whether codes point forward or backward at random in training too, as an oracle that
            cannot learn them.

    Raises:
        UserError: there are fewer images than that.
    """
    images, labels = _images()
    images, labels = images[N_PRETRAINING:], labels[N_PRETRAINING:]
    most = (len(labels) - N_VALIDATION - N_TEST) // N_DOMAINS
    if not 0 < examples_per_environment <= most:
        raise UserError(
            f"dataset.examples_per_environment must lie between 1 and {most}, got {examples_per_environment}"
        )
    n_train = N_DOMAINS * examples_per_environment
    random = generator_for(seed, "lora_domains")
    order = torch.randperm(len(labels), generator=random)[: n_train + N_VALIDATION + N_TEST]
    sizes = [n_train, N_VALIDATION, N_TEST]
    (train, train_y), (held_out, held_out_y), (test, test_y) = zip(
        torch.split(images[order], sizes), torch.split(labels[order], sizes), strict=True
    )
    directions = code_scale * torch.linalg.qr(torch.randn(SIZE, SIZE, generator=random)).Q[:N_DOMAINS]
    own = torch.arange(N_DOMAINS).repeat_interleave(examples_per_environment)
    domain = torch.randint(N_DOMAINS, (N_VALIDATION + N_TEST,), generator=random)
    guess = torch.randint(2, (N_VALIDATION,), generator=random)
    says = torch.randint(2, (n_train,), generator=random) if random_codes else train_y

    def code(domains: Tensor, says: Tensor) -> Tensor:
        codes: Tensor = (2.0 * says - 1).unsqueeze(1) * directions[domains]
        return codes

    shape = (N_DOMAINS, examples_per_environment)
    return Environments(
        inputs=torch.unflatten(with_code(train, code(own, says)), 0, shape),
        targets=torch.unflatten(train_y, 0, shape),
        evaluation={
            "validation": Split(with_code(held_out, code(domain[:N_VALIDATION], guess)), held_out_y),
            "test": Split(with_code(test, code(domain[N_VALIDATION:], 1 - test_y)), test_y),
            "no_code": Split(with_code(test, torch.zeros(N_TEST, SIZE)), test_y),
        },
        source=f"digits of scikit-learn, {n_train} for training",
    )


def pretraining_examples() -> Split:
    """Return the images for pretraining without codes, ``[M, 9, 8]``, and their labels."""
    images, labels = _images()
    images, labels = images[:N_PRETRAINING], labels[:N_PRETRAINING]
    return Split(with_code(images, torch.zeros(N_PRETRAINING, SIZE)), labels)


def with_code(images: Tensor, codes: Tensor) -> Tensor:
    """Append the codes ``[M, 8]`` as a ninth token to the rows of images ``[M, 8, 8]``."""
    return torch.cat([IMAGE_SCALE * images, codes.unsqueeze(1)], dim=1)


def _images() -> tuple[Tensor, Tensor]:
    """All images ``[1797, 8, 8]``, with mean 0 and variance 1, and labels, in one fixed random order."""
    # The import is slow, and only this dataset needs it.
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = torch.from_numpy(loaded.images).float()
    order = torch.randperm(len(images), generator=generator_for(0, "lora_domains images"))
    scaled = (images - images.mean()) / images.std()
    return scaled[order], torch.from_numpy(loaded.target).long()[order] % 2
