"""The consistency of a solution: how far environments disagree about what is as good as it.

Paper, section 2.1, equation 2. For every ordered pair of environments (e, e'), e = e' included,

    gap(e, e') = max over theta in N_e of |L_e'(theta) - L_e(theta*)|

where N_e is the path-connected region around theta* in which ``L_e(theta) <= L_e(theta*) + epsilon``.
The largest gap is the *inconsistency* (thesis, equation 3.1: 0 would be best, epsilon is the least
that can be reached when the risks are unbounded). Its negative is the *consistency* (paper: higher
is better), which is what ``consistency_score`` returns.

Deviation: the paper's formula subtracts ``L_e(theta)``, its proofs and Remark 2 ``L_e(theta*)``. With
the first, two environments with curvature ratio r would score epsilon |r - 1| and identical ones 0;
only the second gives the epsilon r and the epsilon that the paper derives, so it is used here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ilc.consistency.derivatives import LocalRisk, Loss
from ilc.consistency.expansion import Expansion, Gap, largest_gap, positive_part
from ilc.consistency.large import LowRankExpansion, SharedSpans, expand
from ilc.errors import UserError
from ilc.seeding import generator_for

PARTIAL_DAMPING = 1e-2
"""Default diagonal, a share of the largest curvature, when only leading curvatures are known."""


def complete_damping(dtype: torch.dtype) -> float:
    """Default diagonal when every curvature is known: just above rounding, 1e-12 in float64."""
    return max(1e-12, 8 * torch.finfo(dtype).eps)


@dataclass(frozen=True)
class Consistency:
    """A consistency score and where it comes from.

    Attributes:
        inconsistency: largest gap over all pairs, in units of the risk; lower is better.
        pair: the environments (e, e') of that gap: e sees no harm, e' does.
        step: ``theta - theta*`` that reaches it, ``[P]``.
        gaps: gap of every pair, ``[E, E]``, float64.
        estimate: ``second order`` or ``lower bound on the inconsistency``.
    """

    inconsistency: float
    pair: tuple[int, int]
    step: Tensor
    gaps: Tensor
    estimate: str

    @property
    def score(self) -> float:
        """The paper's sign: minus the inconsistency, higher is better."""
        return -self.inconsistency


def consistency_score(
    losses: Sequence[Loss], theta_star: Tensor, epsilon: float, method: str = "quadratic", **options: Any
) -> float:
    """Consistency of a solution: minus its inconsistency, higher is better (paper, equation 2).

    Args:
        losses: E callables, the risk of each environment at parameters ``[P]``. At least two.
        theta_star: the solution, ``[P]``, floating point.
        epsilon: how much worse than at the solution a risk may be and still count as equally good.
        method: ``quadratic`` (exact on the second-order expansion), ``hessian_vector`` (the same for
            large networks) or ``search`` (ascent on the risks themselves; finds a lower bound on the
            inconsistency, so an upper bound on the consistency).
        options: of the method, see ``quadratic``, ``hessian_vector``, ``ilc.consistency.search``.

    Raises:
        UserError: fewer than two losses, parameters that are no vector, epsilon not above 0, an
            unknown method or option, a loss that is not a finite scalar.
    """
    from ilc.consistency.search import search

    methods: dict[str, Callable[..., Consistency]] = {
        "quadratic": quadratic,
        "hessian_vector": hessian_vector,
        "search": search,
    }
    if method not in methods:
        raise UserError(f"method must be one of {', '.join(methods)}, got {method!r}")
    known = list(inspect.signature(methods[method]).parameters)[3:]
    unknown = sorted(options.keys() - set(known))
    if unknown:
        raise UserError(f"method {method!r} has no option {unknown[0]!r}: there are {', '.join(known)}")
    return methods[method](losses, theta_star, epsilon, **options).score


def quadratic(
    losses: Sequence[Loss], theta_star: Tensor, epsilon: float, damping: float | None = None
) -> Consistency:
    """Second-order expansion per environment, every maximum solved exactly; for up to ~1,000 parameters.

    Args:
        losses: E risks.
        theta_star: ``[P]``.
        epsilon: tolerated increase of the risk.
        damping: the small positive diagonal of the paper's footnote 8, as a share of the largest
            curvature of any environment (None: just above rounding, 1e-12 in float64); negative curvature
            counts as none. Where an environment is
            flat, a step may be as long as this diagonal allows: for a network with more parameters
            than examples the score depends on it, so compare scores at equal damping.

    Raises:
        UserError: see ``consistency_score``.
    """
    check_arguments(losses, theta_star, epsilon)
    if damping is None:
        damping = complete_damping(theta_star.dtype)
    local = [LocalRisk(loss, theta_star) for loss in losses]
    hessians = [positive_part(risk.hessian()) for risk in local]
    largest = max(float(torch.linalg.eigvalsh(h)[-1]) for h in hessians)
    diagonal = _diagonal(damping, largest) * torch.eye(len(theta_star), dtype=torch.float64)
    expansions = [
        Expansion(risk.risk, risk.gradient.double(), hessian + diagonal)
        for risk, hessian in zip(local, hessians, strict=True)
    ]
    n = len(losses)
    gaps = [[largest_gap(expansions[e], expansions[other], epsilon) for other in range(n)] for e in range(n)]
    values = torch.tensor([[gap.value for gap in row] for row in gaps], dtype=torch.float64)
    pair = worst_pair(values)
    step = gaps[pair[0]][pair[1]].step
    return Consistency(float(values[pair]), pair, step, values, "second order")


def hessian_vector(
    losses: Sequence[Loss],
    theta_star: Tensor,
    epsilon: float,
    damping: float | None = None,
    lanczos_steps: int = 60,
    seed: int = 0,
) -> Consistency:
    """The same as ``quadratic`` from Hessian-vector products: memory O(E * lanczos_steps * P).

    Args:
        losses: E risks.
        theta_star: ``[P]``.
        epsilon: tolerated increase of the risk.
        damping: as for ``quadratic``. None is the same default if ``lanczos_steps >= P``, else 1e-2:
            a smaller diagonal needs more steps, for curvature above it has to be resolved (on trained
            perceptrons of 202 parameters 60 steps err by 0.3 % at 1e-2 and by 3 % at 1e-3).
        lanczos_steps: products per environment.
        seed: of Lanczos' random starts.

    Raises:
        UserError: see ``consistency_score``.
    """
    check_arguments(losses, theta_star, epsilon)
    if lanczos_steps < 1:
        raise UserError(f"lanczos_steps must be at least 1, got {lanczos_steps}")
    if damping is None:
        complete = lanczos_steps >= len(theta_star)
        damping = complete_damping(theta_star.dtype) if complete else PARTIAL_DAMPING
    generator = generator_for(seed, "lanczos")
    expansions = [expand(loss, theta_star, lanczos_steps, generator) for loss in losses]
    return score_expansions(expansions, epsilon, damping)


def score_expansions(expansions: Sequence[LowRankExpansion], epsilon: float, damping: float) -> Consistency:
    """The second part of ``hessian_vector``: every pair of expansions, for one epsilon and damping."""
    largest = max(float(e.curvatures.max()) if len(e.curvatures) else 0.0 for e in expansions)
    spans = SharedSpans(expansions, _diagonal(damping, largest))
    n = len(expansions)
    values = torch.zeros(n, n, dtype=torch.float64)
    best = Gap(-1.0, torch.zeros_like(expansions[0].gradient))
    for e in range(n):
        for other in range(n):
            home, away, whiten = spans.pair(e, other)
            gap = largest_gap(home, away, epsilon)
            values[e, other] = gap.value
            if gap.value > best.value:
                best = Gap(gap.value, spans.step(e, other, gap.step, whiten))
    return Consistency(float(values.max()), worst_pair(values), best.step, values, "second order")


def check_arguments(losses: Sequence[Loss], theta_star: Tensor, epsilon: float) -> None:
    """Raise UserError for fewer than two losses, parameters that are no finite vector, or epsilon <= 0."""
    if len(losses) < 2:
        raise UserError(f"consistency compares environments: give at least two losses, got {len(losses)}")
    if theta_star.ndim != 1 or not len(theta_star) or not theta_star.is_floating_point():
        raise UserError(
            f"theta_star must be a floating-point vector [P], got {theta_star.dtype} of shape "
            f"{tuple(theta_star.shape)}: flatten the parameters"
        )
    if not bool(theta_star.isfinite().all()):
        raise UserError("theta_star contains NaN or infinity")
    if not 0 < epsilon < float("inf"):
        raise UserError(f"epsilon must be a finite number above 0, got {epsilon!r}")


def worst_pair(values: Tensor) -> tuple[int, int]:
    """Row and column of the largest entry ``[E, E]``."""
    flat = int(values.argmax())
    return flat // len(values), flat % len(values)


def _diagonal(damping: float, largest: float) -> float:
    if not 0 < damping < float("inf"):
        raise UserError(
            f"damping must be a finite number above 0, got {damping!r}: without it a flat environment "
            "would allow steps of any length and the consistency would be minus infinity"
        )
    # Risks without any curvature still need a bounded region.
    return damping * (largest if largest > 0 else 1.0)
