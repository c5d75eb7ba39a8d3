"""Example 1 of Invariant Risk Minimization: a linear structural equation model.

X ~ N(0, s^2), Y = X + N(0, s^2), Z = Y + N(0, 1), and each of them has ``dimensions`` components. The inputs
are (X, Z), and the target is the sum of the components of Y. X causes Y in the same way for every s. Z is
caused by Y, and how well Z predicts Y depends on s.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data.environments import Environments, Split, check_size
from lab.machine.seeding import generator_for

TEST_SCALES = (0.01, 0.1, 1.0)


def make_linear_sem(
    seed: int = 0,
    n_environments: int = 2,
    examples_per_environment: int = 10_000,
    n_test: int = 10_000,
    dimensions: int = 2,
    smallest_scale: float = 0.1,
    largest_scale: float = 1.0,
    source: str = "auto",
) -> Environments:
    """Generate the environments; inputs ``[E, N, 2 * dimensions]``, X first, targets ``[E, N, 1]``.

    The evaluation splits are ``train_sS`` for every training scale S, ``test_sS`` for every scale S in
    {0.01, 0.1, 1} on fresh data, and ``test``, which joins these three. The references hold, for each of the
    three, the lowest risk that is possible without Z, ``dimensions * s^2``.

    Args:
        seed: the seed of all random numbers.
        n_environments: E. The scales s form a geometric sequence, so that 2 environments have {0.1, 1}.
        examples_per_environment: N.
        n_test: the number of examples of each test environment.
        dimensions: the number of components of each of X, Y and Z (explainer: 2).
        smallest_scale: s of the first environment.
        largest_scale: s of the last environment.
        source: ``auto`` or ``synthetic``. Both generate the data.

    Raises:
        UserError: a size is below 1, there are fewer than two environments, the scales do not increase, or
            the source is unknown.
    """
    if source not in ("auto", "synthetic"):
        raise UserError(
            f"dataset.source must be auto or synthetic, got {source!r}: linear_sem is always generated"
        )
    if min(examples_per_environment, n_test, dimensions) < 1 or n_environments < 2:
        raise UserError(
            "linear_sem needs dataset.n_environments of at least 2 and sizes of at least 1, got "
            f"{n_environments=}, {examples_per_environment=}, {n_test=}, {dimensions=}"
        )
    if not 0 < smallest_scale < largest_scale < math.inf:
        raise UserError(
            "dataset.smallest_scale must be above 0 and below dataset.largest_scale, "
            f"got {smallest_scale} and {largest_scale}"
        )
    n = n_environments * examples_per_environment + len(TEST_SCALES) * n_test
    check_size("linear_sem", n * (2 * dimensions + 1))
    random = generator_for(seed, "linear_sem")
    step = math.log(largest_scale / smallest_scale) / (n_environments - 1)
    scales = [smallest_scale * math.exp(step * environment) for environment in range(n_environments)]
    training = [_draw(scale, examples_per_environment, dimensions, random) for scale in scales]
    test = {scale: _draw(scale, n_test, dimensions, random) for scale in TEST_SCALES}
    evaluation = {f"train_s{scale:g}": split for scale, split in zip(scales, training, strict=True)}
    evaluation |= {f"test_s{scale:g}": split for scale, split in test.items()}
    evaluation["test"] = Split(
        torch.cat([split.inputs for split in test.values()]),
        torch.cat([split.targets for split in test.values()]),
    )
    best = {f"best/loss_s{scale:g}": dimensions * scale**2 for scale in TEST_SCALES}
    return Environments(
        inputs=torch.stack([split.inputs for split in training]),
        targets=torch.stack([split.targets for split in training]),
        evaluation=evaluation,
        references=best,
        source="synthetic linear structural equation model",
    )


def _draw(scale: float, n: int, dimensions: int, random: torch.Generator) -> Split:
    """Draw ``n`` examples at one scale: inputs (X, Z) and the sum of Y as target."""

    def noise() -> Tensor:
        return torch.randn(n, dimensions, generator=random)

    x = scale * noise()
    y = x + scale * noise()
    z = y + noise()
    return Split(torch.cat([x, z], dim=1), y.sum(dim=1, keepdim=True))
