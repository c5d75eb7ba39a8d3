"""The rows of the tables of scored solutions: risks, and a score for every epsilon and damping."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ilc.consistency import Consistency, Loss, quadratic

SETTINGS = ((0.01, 1e-3), (0.01, 1e-1), (0.1, 1e-3))
"""The epsilon and damping of every score.

Scores are reported at damping 0.1, because 20 products per environment resolve it."""


def exact_scores(known: dict[str, Any], losses: list[Loss], theta: Tensor) -> list[dict[str, Any]]:
    """Return a row per setting of ``SETTINGS``. All rows begin with the values in ``known``."""
    known = known | risks_at(losses, theta)
    scores = [quadratic(losses, theta, *setting) for setting in SETTINGS]
    return [known | described(score, *setting) for score, setting in zip(scores, SETTINGS, strict=True)]


def risks_at(losses: list[Loss], theta: Tensor) -> dict[str, float]:
    """Return the mean of the environments' risks, and the difference of the largest and the smallest."""
    with torch.no_grad():
        risks = torch.stack([loss(theta).double() for loss in losses])
    return {"train_risk": float(risks.mean()), "risk_spread": float(risks.max() - risks.min())}


def described(score: Consistency, epsilon: float, damping: float) -> dict[str, Any]:
    """Return a score, the median gap between different environments, and the score's setting."""
    n = len(score.gaps)
    between = score.gaps[~torch.eye(n, dtype=torch.bool)]
    return {
        "epsilon": epsilon,
        "damping": damping,
        "inconsistency": score.inconsistency,
        "median_gap": float(between.median()),
        "estimate": score.estimate,
    }
