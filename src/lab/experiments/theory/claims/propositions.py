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
            claim="proposition 2: masked random gradients vanish exponentially (figure 4)",
            paper="as n / c^d with 1 < c <= 2",
            ours=f"c = {base:.3f} at t = 0.8 d, drawn steps follow the exact binomial",
            number=f"c = {base:.3f}",
            verdict="reproduced; the appendix's formula for c corrected",
        ),
        Claim(
            short="The determinants' ratio bounds the inconsistency",
            claim="proposition 3: inconsistency is at most 2 epsilon (det ratio)^2",
            paper="constant 2",
            ours=f"curvatures 1 and 4: {found:.3g} epsilon, bound {printed:.4g} epsilon; constant 4 holds",
            number=f"{found / printed:.2f} x the printed bound",
            verdict="reproduced" if found <= printed else "not reproduced as printed",
        ),
        Claim(
            short="The pooled ellipse is 100 times larger",
            claim="figures 3 and 12: the pooled ellipse is 100 times the shared one",
            paper="100 times the volume",
            ours=f"{areas:.2f} times the area, {determinants:.1f} times the determinant",
            number=f"{areas:.2f} times the area",
            verdict="reproduced" if abs(areas - 100) < 1 else "not reproduced",
        ),
    ]
