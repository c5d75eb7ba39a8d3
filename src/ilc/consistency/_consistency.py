"""The consistency of a solution: how much environments disagree about which parameters are equally good.

Paper, section 2.1, equation 2. For every ordered pair of environments (e, e'), e = e' included,

    gap(e, e') = max over theta in N_e of |L_e'(theta) - L_e(theta*)|

where N_e is the path-connected region around theta* in which ``L_e(theta) <= L_e(theta*) + epsilon``.
The largest gap is the *inconsistency* (thesis, equation 3.1). 0 would be best; for unbounded risks the
smallest possible value is epsilon. Its negative is the *consistency* (paper; higher is better), which
``consistency_score`` returns.

Deviation: the paper's formula subtracts ``L_e(theta)``, but its proofs and Remark 2 subtract ``L_e(theta*)``.
With the formula, two environments with curvature ratio r would score epsilon |r - 1|, and identical ones 0.
Only the second form gives epsilon r and epsilon, as the paper derives. So it is used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc._numbers import check_number
from ilc.consistency._derivatives import Loss
from ilc.consistency._repeatable import check_repeatable
from ilc.errors import UserError


@dataclass(frozen=True)
class Consistency:
    """A consistency score with the pair of environments that decides it.

    Attributes:
        inconsistency: the largest gap over all pairs, in units of the risk; lower is better.
        pair: the environments (e, e') of that gap. The step is harmless for e, but not for e'.
        step: the step ``theta - theta*`` that reaches the gap, ``[P]``.
        gaps: the gap of every pair, ``[E, E]``, float64.
        estimate: ``second order`` or ``lower bound on the inconsistency``.
        negative_curvature: the most negative curvature of any environment, as a share of the largest positive
            one. A second-order score leaves it out. If it is well above rounding, ``theta_star`` is not a
            minimum of that environment's risk. If it is infinite, ``theta_star`` is a maximum.
        missed_curvature: the change of a risk at ``step`` by curvature that was not found. It is computed for
            the environment e as a share of epsilon, and for e' as a share of the inconsistency. The larger
            of both numbers counts. Only ``hessian_vector`` with too few Lanczos steps misses any curvature.
            If the number is above 0.1, the score may be wrong by this share: take more steps. Curvature in
            directions that no Lanczos step found is not in this number.
    """

    inconsistency: float
    pair: tuple[int, int]
    step: Tensor
    gaps: Tensor
    estimate: str
    negative_curvature: float = 0.0
    missed_curvature: float = 0.0

    @property
    def score(self) -> float:
        """The paper's sign: minus the inconsistency, higher is better."""
        return -self.inconsistency


def check_arguments(losses: Sequence[Loss], theta_star: Tensor, epsilon: float) -> None:
    """Raise UserError for what has no score.

    That is fewer than two losses, parameters that are not a finite vector, epsilon <= 0, or a loss that is no
    function of the parameters alone.
    """
    if not isinstance(losses, Sequence) or not all(map(callable, losses)):
        raise UserError(
            "losses must be a list of functions, one of the parameters [P] for each environment, got "
            f"{type(losses).__name__}"
        )
    if len(losses) < 2:
        raise UserError(f"consistency compares environments: give at least two losses, got {len(losses)}")
    if not isinstance(theta_star, Tensor):
        raise UserError(
            f"theta_star must be a floating-point vector [P], got {type(theta_star).__name__}: use "
            "torch.tensor"
        )
    if theta_star.ndim != 1 or not len(theta_star) or not theta_star.is_floating_point():
        raise UserError(
            f"theta_star must be a floating-point vector [P], got {theta_star.dtype} of shape "
            f"{tuple(theta_star.shape)}: flatten the parameters"
        )
    if not bool(theta_star.isfinite().all()):
        raise UserError("theta_star contains NaN or infinity: give finite parameters")
    if not 0 < check_number("epsilon", epsilon) < float("inf"):
        raise UserError(f"epsilon must be a finite number above 0, got {epsilon!r}")
    check_repeatable(losses, theta_star)


def share_of_negative(lowest: float, largest: float) -> float:
    """``negative_curvature`` from the lowest and the largest curvature of all environments."""
    if lowest >= 0:
        return 0.0
    return -lowest / largest if largest > 0 else float("inf")


def check_minimum(share: float, damping: float, dtype: torch.dtype) -> None:
    """Raise UserError if the negative curvature that is left out is above damping and rounding."""
    if share <= max(damping, torch.finfo(dtype).eps ** 0.5):
        return
    if share == float("inf"):
        found = "theta_star is a maximum of an environment's risk"
    else:
        found = (
            f"theta_star is a saddle of an environment's risk (its negative curvature is {share:.2g} times "
            "the largest positive one)"
        )
    remedy = "" if share >= 1 else f" set damping to at least {share:.1g}, which counts it as flat,"
    raise UserError(
        f"a second-order score needs a minimum, but {found}: train further,{remedy} or take "
        "method='search' (ilc.consistency.search), which needs no minimum"
    )


def worst_pair(values: Tensor) -> tuple[int, int]:
    """Row and column of the largest entry ``[E, E]``."""
    flat = int(values.argmax())
    return flat // len(values), flat % len(values)
