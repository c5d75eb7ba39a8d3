"""Ellipses of Hessians and of their arithmetic and geometric means (for figures 3 and 12)."""

from __future__ import annotations

import math

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from ilc.consistency import arithmetic_mean, diagonal_geometric_mean, ellipsoid_volume
from lab.figures.style import COLORS, GREY

PAIR = torch.diag_embed(torch.tensor([[0.01, 1.0], [1.0, 0.01]], dtype=torch.float64))
"""The paper's Hessians H_A and H_B."""


def draw_ellipses(axes: Axes, pair: Tensor, inverse: bool) -> None:
    """Draw contours of A, B and both means: ``s' H^-1 s = 1`` with ``inverse``, else ``s' H s = 1``."""
    curves = {
        "A": (pair[0], GREY, "--"),
        "B": (pair[1], GREY, ":"),
        "A+B: arithmetic mean": (arithmetic_mean(pair), COLORS["mean"], "-"),
        "A∧B: geometric mean": (diagonal_geometric_mean(pair), COLORS["geometric_mean"], "-"),
    }
    angle = np.linspace(0, 2 * math.pi, 400)
    for name, (hessian, color, line) in curves.items():
        shape = hessian if inverse else torch.linalg.inv(hessian)
        x, y = np.sqrt(shape.diagonal().numpy())[:, None] * np.stack([np.cos(angle), np.sin(angle)])
        volume = ellipsoid_volume(shape)
        axes.plot(x, y, color=color, ls=line, lw=2, label=f"{name} (area {volume:.3g})")
    axes.set_aspect("equal")
    axes.set_xlabel("$\\theta_1$")
    axes.set_ylabel("$\\theta_2$")


def ratios(pair: Tensor) -> tuple[float, float]:
    """Return determinant and volume of the arithmetic mean, as multiples of the geometric mean's."""
    or_, and_ = arithmetic_mean(pair), diagonal_geometric_mean(pair)
    volume = ellipsoid_volume(or_) / ellipsoid_volume(and_)
    return float(torch.linalg.det(or_) / torch.linalg.det(and_)), volume
