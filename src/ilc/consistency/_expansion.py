"""Second-order expansions of the environments' risks, and the largest gap between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ilc.consistency._ball import maximize_in_ball


@dataclass(frozen=True)
class Expansion:
    """Risk of one environment around the solution: ``risk + gradient . s + 1/2 s . curvature s``.

    All numbers are float64. ``curvature`` is positive definite: negative eigenvalues are set to zero, then
    the small positive diagonal is added (paper, footnote 8).
    """

    risk: float
    gradient: Tensor
    curvature: Tensor


class Gap(NamedTuple):
    """The largest ``|L_e'(theta) - L_e(theta*)|`` and the step ``theta - theta*`` that reaches it."""

    value: float
    step: Tensor


def largest_gap(home: Expansion, other: Expansion, epsilon: float) -> Gap:
    """Maximise ``|other(s) - home(0)|`` over the steps s with ``home(s) <= home(0) + epsilon``.

    The substitution ``y = R (s + H^-1 g)`` turns the ellipsoid into a ball. Here ``H = R' R`` is the
    curvature at home. Without gradients the result is epsilon times the largest generalised eigenvalue of the
    two curvatures (paper, appendix to section 2.2).
    """
    root = torch.linalg.cholesky(home.curvature).mT
    inverse = torch.linalg.solve_triangular(root, torch.eye(len(root), dtype=root.dtype), upper=True)
    newton = inverse @ (inverse.mT @ home.gradient)
    radius = float((2 * epsilon + home.gradient @ newton).clamp(min=0).sqrt())
    # other(s) with s = inverse y - newton
    slope_at_centre = other.gradient - other.curvature @ newton
    centre = other.risk - float(other.gradient @ newton - 0.5 * newton @ (other.curvature @ newton))
    curvatures, basis = torch.linalg.eigh(inverse.mT @ other.curvature @ inverse)
    slopes = basis.mT @ (inverse.mT @ slope_at_centre)
    rise, above = maximize_in_ball(curvatures, slopes, radius)
    fall, below = maximize_in_ball(-curvatures, -slopes, radius)
    up, down = centre + rise - home.risk, home.risk - (centre - fall)
    value, y = (up, above) if up >= down else (down, below)
    return Gap(value, inverse @ (basis @ y) - newton)


def positive_part(hessian: Tensor) -> Tensor:
    """The matrix with its negative eigenvalues set to 0."""
    eigenvalues, basis = torch.linalg.eigh(hessian)
    if bool(eigenvalues[0] >= 0):
        return hessian
    positive: Tensor = (basis * eigenvalues.clamp(min=0)) @ basis.mT
    return positive
