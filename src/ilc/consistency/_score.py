"""The consistency score of the paper, by one of three methods."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ilc.consistency._ascent import search
from ilc.consistency._consistency import Consistency, check_minimum
from ilc.consistency._derivatives import Loss
from ilc.consistency._missed_curvature import REFUSED_SHARE
from ilc.consistency._second_order import hessian_vector, quadratic
from ilc.consistency._trust import missed_too_much
from ilc.errors import UserError

_FLAT = 1e-2
"""Negative curvature up to this share of the largest one counts as flat, if no damping is given."""


def consistency_score(
    losses: Sequence[Loss], theta_star: Tensor, epsilon: float, method: str = "quadratic", **options: Any
) -> float:
    """Consistency of a solution: minus its inconsistency, higher is better (paper, equation 2).

    Args:
        losses: E callables, the risk of each environment at parameters ``[P]``. At least two.
        theta_star: the solution, ``[P]``, floating point.
        epsilon: the increase of a risk up to which parameters count as equally good.
        method: ``quadratic`` (exact on the second-order expansion), ``hessian_vector`` (approximates it for
            large networks) or ``search`` (ascent on the risks themselves). ``search`` finds a lower bound
            on the inconsistency, which is an upper bound on the consistency.
        options: the options of ``quadratic``, ``hessian_vector`` or ``ilc.consistency.search``.

    Raises:
        UserError: there are fewer than two losses, the parameters are no vector, epsilon is not above 0, the
            method or an option is unknown, or a loss is not a finite scalar. A second-order method also
            refuses a saddle or a maximum of a risk, where the most negative curvature is beyond ``damping``
            (1 % by default) of the largest positive one. ``hessian_vector`` warns if its
            ``missed_curvature`` is above a tenth, and refuses if it is above one.
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
        raise UserError(f"method {method!r} has no option {unknown[0]!r}: its options are {', '.join(known)}")
    found = methods[method](losses, theta_star, epsilon, **options)
    check_minimum(found.negative_curvature, options.get("damping") or _FLAT, theta_star.dtype)
    for doubt in missed_too_much(found):
        if found.missed_curvature > REFUSED_SHARE:
            raise UserError(f"the consistency score would be {found.score:.4g}, but it is wrong: {doubt}")
        warnings.warn(f"the consistency score {found.score:.4g} may mislead: {doubt}", stacklevel=2)
    return found.score
