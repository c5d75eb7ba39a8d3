"""Example 1 of Invariant Risk Minimization: a linear structural equation model.

X ~ N(0, s^2), Y = X + N(0, s^2), Z = Y + N(0, 1), each of ``dimensions`` components; the inputs
are (X, Z), the target is the sum of Y. X causes Y in the same way whatever s is; Z is caused by
Y, and how well it predicts Y depends on s.
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

    Evaluation splits: ``train_sS`` for every training scale S, ``test_sS`` for s in {0.01, 0.1, 1}
    on fresh data, and ``test``, the three together. The lowest risk that is possible without Z,
    ``dimensions * s^2``, stands beside each as a reference.

    Args:
        seed: of everything drawn.
        n_environments: E; their scales s form a geometric sequence, so that 2 gives {0.1, 1}.
        examples_per_environment: N.
        n_test: examples of each test environment.
        dimensions: of X, Y and Z each (explainer: 2).
        smallest_scale: s of the first environment.
        largest_scale: s of the last.
        source: ``auto`` or ``synthetic``; there is no other.

    Raises:
        UserError: a size below 1, fewer than two environments, scales not in increasing order.
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
    """``n`` examples at one scale: (X, Z) and the sum of Y."""

    def noise() -> Tensor:
        return torch.randn(n, dimensions, generator=random)

    x = scale * noise()
    y = x + scale * noise()
    z = y + noise()
    return Split(torch.cat([x, z], dim=1), y.sum(dim=1, keepdim=True))
