"""Proposition 1 on random problems: the masked gradient vanishes during AND-masked descent."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ilc.aggregators import AndMask
from lab.figures.claims import Claim
from lab.machine.seeding import generator_for

N_PROBLEMS, N_ENVIRONMENTS, N_PARAMETERS, N_STEPS = 100, 8, 20, 200
THRESHOLDS = (0.25, 0.5, 1.0)


class Descent(NamedTuple):
    """AND-masked gradient descent on K problems.

    Attributes:
        squared: ``[steps, K]``, the squared norm of the masked gradient.
        risk: ``[K]``, the risk at the start. No risk is below 0.
        lr: ``[K]``, the learning rate 1/L.
        unmasked: ``[K]``, the squared norm of the whole gradient at the end.
    """

    squared: Tensor
    risk: Tensor
    lr: Tensor
    unmasked: Tensor


def claims(results: Path) -> list[Claim]:
    """Return the claim, from random problems with a fixed seed. ``results`` is not needed."""
    del results
    steps = torch.arange(1, N_STEPS + 1, dtype=torch.float64)[:, None]
    largest, left = 0.0, []
    for threshold in THRESHOLDS:
        found = masked_descent(threshold)
        bound = 2 * found.risk / (found.lr * steps)
        largest = max(largest, float((found.squared.cummin(0).values / bound).max()))
        left.append(float((found.unmasked > 100 * found.squared[-1]).double().mean()))
    shares = ", ".join(
        f"{100 * share:.0f} % with threshold {t:g}" for t, share in zip(THRESHOLDS, left, strict=True)
    )
    return [
        Claim(
            short="The masked gradient vanishes like 1/k",
            claim="Proposition 1: AND-masked gradient descent visits points at which the masked gradient "
            "vanishes.",
            paper="After k steps the squared norm of the masked gradient is at most 2 L(theta_0) / (lr k), "
            "if the learning rate lr is at most 1/L.",
            ours=f"We drew {N_PROBLEMS} random problems of {N_ENVIRONMENTS} environments and {N_PARAMETERS} "
            f"parameters, and made {N_STEPS} steps with each of the thresholds "
            f"{', '.join(f'{t:g}' for t in THRESHOLDS)}. After every step the smallest squared norm until "
            f"then is at most {largest:.2f} of the bound. The bound says nothing about the whole gradient. "
            "At the end the squared norm of the whole gradient is more than 100 times that of the masked "
            f"gradient in these shares of the problems: {shares}.",
            number=f"at most {largest:.2f} of the bound",
            verdict=descent_rule(largest),
        )
    ]


def descent_rule(largest: float) -> str:
    """Return the verdict on proposition 1.

    Args:
        largest: the largest ratio of a squared norm to the proposition's bound. Rounding may exceed it.
    """
    return "reproduced" if largest <= 1 + 1e-9 else f"refuted: a problem has {largest:.2f} times the bound"


def masked_descent(threshold: float) -> Descent:
    """Descend with learning rate 1/L on the risk ``mean_e sum_j a_ej (1 - cos(theta_j - c_ej))``.

    The risk is not convex and is never below 0. The amplitudes a and the places c are random, so that the
    environments agree on some components.
    """
    random = generator_for(0, "proposition 1")
    shape = (N_PROBLEMS, N_ENVIRONMENTS, N_PARAMETERS)
    amplitude = torch.rand(shape, generator=random, dtype=torch.float64)
    place = torch.randn(N_PROBLEMS, 1, N_PARAMETERS, generator=random, dtype=torch.float64)
    place = place + 0.5 * torch.randn(shape, generator=random, dtype=torch.float64)
    theta = torch.zeros(N_PROBLEMS, N_PARAMETERS, dtype=torch.float64)
    lr = 1 / amplitude.mean(1).amax(1)
    risk = (amplitude * (1 - torch.cos(theta[:, None] - place))).mean(1).sum(1)
    squared, mask = [], AndMask(threshold)
    for _ in range(N_STEPS):
        gradients = amplitude * torch.sin(theta[:, None] - place)
        mean = gradients.mean(1)
        # The components of all problems lie side by side, because each component is masked independently.
        masked = mask(gradients.movedim(1, 0).flatten(1)).view_as(theta)
        squared.append(masked.square().sum(1))
        theta = theta - lr[:, None] * masked
    return Descent(torch.stack(squared), risk, lr, mean.square().sum(1))
