"""The parts that figures 5 and 13 share: the two classes and the oracle's boundary between the spirals."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from torch import Tensor

from lab.experiments.spirals.readings import CHOSEN
from lab.figures.style import COLORS

REVOLUTIONS = CHOSEN.revolutions
# Neither colour belongs to a method that the spirals' other figures compare.
CLASSES = (
    ("class +1", 1, "o", COLORS["temporal_mask"]),
    ("class \N{MINUS SIGN}1", 0, "^", COLORS["irm_penalty"]),
)


def draw_classes(axes: Axes, points: Tensor, targets: Tensor, size: float = 2.6) -> None:
    """Draw points ``[N, 2]`` by class, in colour and by marker; ``size`` in points."""
    for label, target, marker, color in CLASSES:
        x, y = points[targets == target].T.numpy()
        axes.plot(x, y, marker, color=color, ms=size, mew=0, label=label)


def boundary() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the curve half-way between the spirals, from rim to rim through the origin."""
    radius = np.linspace(-1.08, 1.08, 801)
    angle = 2 * math.pi * REVOLUTIONS * np.abs(radius) + math.pi / 2
    return radius * np.cos(angle), radius * np.sin(angle)
