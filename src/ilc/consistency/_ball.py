"""The maximum of a quadratic function in a ball: the trust-region problem, solved exactly."""

from __future__ import annotations

import math

import torch
from scipy.optimize import brentq
from torch import Tensor

# A gap below this share of the largest curvature counts as zero: eigenvalues have that much rounding.
_ROUNDING = 1e-13


def maximize_in_ball(curvatures: Tensor, slopes: Tensor, radius: float) -> tuple[float, Tensor]:
    """Maximise ``slopes . y + 1/2 sum_i curvatures_i y_i^2`` over ``|y| <= radius``.

    The problem is given in the eigenbasis of its matrix. It is not concave, but its global maximum is known:
    it is the point where ``(m I - C) y = slopes`` with ``m >= max(curvatures, 0)`` and either ``|y| =
    radius`` or ``m = 0`` (More and Sorensen 1983; paper, section 2.1, needs this step).

    Args:
        curvatures: ``[n]``, float64, any sign, at least one.
        slopes: ``[n]``, float64.
        radius: at least 0.

    Returns:
        The maximum and a maximiser ``[n]``.
    """
    largest = float(curvatures.max())
    if largest < 0:
        peak = slopes / -curvatures
        if float(peak.norm()) <= radius:
            return _value(curvatures, slopes, peak), peak
    gaps = largest - curvatures
    gaps[gaps <= _ROUNDING * float(curvatures.abs().max())] = 0.0
    y = _on_sphere(gaps, slopes, radius)
    return _value(curvatures, slopes, y), y


def _value(curvatures: Tensor, slopes: Tensor, y: Tensor) -> float:
    return float(slopes @ y + 0.5 * (curvatures * y.square()).sum())


def _on_sphere(gaps: Tensor, slopes: Tensor, radius: float) -> Tensor:
    """The point ``slopes / (shift + gaps)`` whose norm is the radius, ``shift = m - max(C) >= 0``."""
    if radius == 0:
        return torch.zeros_like(slopes)
    top = gaps == 0
    below = ~top
    pull = float(slopes[top].norm())
    rest = torch.where(below, slopes / gaps.where(below, 1.0), 0.0)
    missing = radius**2 - float(rest @ rest)
    # So weak a pull along the largest curvature cannot be distinguished from zero (the "hard case"). The
    # missing length goes along the leading eigenvector, and only its sign is chosen.
    if missing >= 0 and pull <= 1e-14 * max(float(slopes.norm()), math.ulp(0.0)):
        return rest + _along_top(top, slopes, math.sqrt(missing))
    low, high = max(pull / radius, math.ulp(0.0)), float(slopes.norm()) / radius

    def too_long(log_shift: float) -> float:
        return math.log(float((slopes / (math.exp(log_shift) + gaps)).norm()) / radius)

    shift = math.exp(_root(too_long, math.log(low), math.log(high)))
    y = slopes / (shift + gaps)
    return y * (radius / float(y.norm()))


def _along_top(top: Tensor, slopes: Tensor, length: float) -> Tensor:
    direction = torch.zeros_like(slopes)
    first = int(top.nonzero()[0])
    direction[first] = length if float(slopes[first]) >= 0 else -length
    return direction


def _root(function: object, low: float, high: float) -> float:
    """The root of a decreasing function in ``[low, high]``, or an end if rounding hides the sign change."""
    assert callable(function)
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    return float(brentq(function, low, high, xtol=1e-14, rtol=1e-14))
