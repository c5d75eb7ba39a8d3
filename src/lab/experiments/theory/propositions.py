"""The paper's three propositions as numbers, in their printed and in their corrected form.

The letters are: d environments, of which t must agree on a sign (t > d / 2), and n parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from scipy import stats
from torch import Tensor

from ilc.aggregators import Aggregator, AndMask
from ilc.consistency import Loss, arithmetic_mean, diagonal_geometric_mean


def masked_descent(
    losses: Sequence[Loss], start: Tensor, learning_rate: float, steps: int, aggregator: Aggregator
) -> Tensor:
    """Squared norms ``[steps]`` of the aggregated gradients that gradient descent follows.

    Proposition 1: with the AND-mask, a mean risk of at least 0 and a learning rate <= 1/L, the smallest of
    the first k norms is at most ``2 L(start) / (learning_rate k)``.
    """
    theta = start.detach().clone().requires_grad_()
    norms = []
    for _ in range(steps):
        gradients = torch.stack([torch.autograd.grad(loss(theta), theta)[0] for loss in losses])
        update = aggregator(gradients)
        norms.append(update.square().sum())
        theta = (theta - learning_rate * update).detach().requires_grad_()
    return torch.stack(norms)


def votes_needed(d: int, share: float = 0.8) -> int:
    """The smallest whole t that is at least ``share * d``."""
    return math.ceil(share * d - 1e-9)


def keep_probability(d: int, t: int) -> float:
    """The probability that at least t of d random signs agree on either sign (paper, equation 6)."""
    return float(2 * stats.binom.sf(t - 1, d, 0.5))


def expected_masked_square(d: int, t: int) -> float:
    """The exact expectation of (mask * mean)^2 for one component of d independent standard normal gradients.

    Given u positive signs, the magnitudes are still independent half-normals. So the mean has variance
    ``(1 - 2/pi) / d`` around ``sqrt(2/pi) (2u - d) / d``.
    """
    u = torch.arange(t, d + 1, dtype=torch.float64)
    weights = torch.tensor(stats.binom.pmf(u.numpy(), d, 0.5))
    squares = (1 - 2 / math.pi) / d + 2 / math.pi * ((2 * u - d) / d).square()
    return float(2 * (weights * squares).sum())


def decay_base(share: float) -> float:
    """The base c of Proposition 2: for ``t = share * d`` the masked square is O(n / c^d) with ``c = 2 / q``.

    q is the growth rate of binom(d, t). The appendix prints ``2 - q``, which is below 1 for every q > 1.
    """
    return 2 / binomial_growth(share)


def binomial_growth(share: float) -> float:
    """The q in ``binom(d, share * d) ~ q^d`` without polynomial factors."""
    if share >= 1:
        return 1.0
    entropy = -share * math.log(share) - (1 - share) * math.log1p(-share)
    return math.exp(entropy)


def masked_square_bound(d: int, t: int) -> float:
    """Upper bound on the masked square per component: ``(d - t + 1) binom(d, t) / 2^(d-1)``.

    The appendix prints the factor ``d - t``, which would make the bound 0 at t = d.
    """
    log_choose = math.lgamma(d + 1) - math.lgamma(t + 1) - math.lgamma(d - t + 1)
    return math.exp(math.log(d - t + 1) + log_choose - (d - 1) * math.log(2))


def simulate_squares(d: int, t: int, n: int, generator: torch.Generator) -> tuple[float, float]:
    """Squared norms of the mean and of the AND-masked mean of d random gradients with n components."""
    gradients = torch.randn(d, n, generator=generator)
    mean = gradients.mean(0)
    masked = AndMask((2 * t - d) / d)(gradients)
    return float(mean.square().sum()), float(masked.square().sum())


def inconsistency_of_diagonal(curvatures: Tensor, epsilon: float) -> float:
    """The exact inconsistency of two diagonal quadratics ``[2, P]`` with minimum 0 at the solution."""
    a, b = curvatures
    return epsilon * float(torch.maximum(a / b, b / a).max())


def inconsistency_bound(curvatures: Tensor, epsilon: float, constant: float = 4.0) -> float:
    """Proposition 3: ``constant * epsilon * (det of arithmetic mean / det of geometric mean)^2``.

    Deviation: the constant 2 of the paper and the thesis is wrong, because their proof takes the root of
    epsilon for epsilon. With 4 the bound holds: ``r + 1/r <= 4 ((r + 1) / (2 sqrt r))^2`` for every ratio r.
    """
    hessians = torch.diag_embed(curvatures.double())
    ratio = torch.linalg.det(arithmetic_mean(hessians)) / torch.linalg.det(diagonal_geometric_mean(hessians))
    return constant * epsilon * float(ratio) ** 2
