"""The consistency score of the paper, by whichever method."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ilc.consistency._ascent import search
from ilc.consistency._consistency import Consistency, check_minimum
from ilc.consistency._derivatives import Loss
from ilc.consistency._second_order import PARTIAL_DAMPING, hessian_vector, quadratic
from ilc.errors import UserError


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
            unknown method or option, a loss that is not a finite scalar; by a second-order method a saddle
            or a maximum of some risk: its most negative curvature is beyond ``damping`` (1 % by default) of
            the largest positive one.
    """
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
    found = methods[method](losses, theta_star, epsilon, **options)
    check_minimum(found.negative_curvature, options.get("damping") or PARTIAL_DAMPING, theta_star.dtype)
    return found.score
