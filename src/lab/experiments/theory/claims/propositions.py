"""The claims on propositions 2 and 3 and on the ellipses, from their formulas."""

from __future__ import annotations

from pathlib import Path

import torch

from ilc.consistency import arithmetic_mean, ellipsoid_volume, karcher_mean
from lab.experiments.theory.propositions import (
    binomial_growth,
    decay_base,
    expected_masked_square,
    inconsistency_bound,
    inconsistency_of_diagonal,
    votes_needed,
)
from lab.figures.claims import Claim
from lab.figures.verdicts import reproduced

SHARE = 0.8
MANY = 800
"""The number of environments at which the exact decay is taken. It has the limit to two digits there."""
SAME = 0.01
"""Two bases of a decay, or two ratios, are the same if they differ by at most this share."""


def claims(results: Path) -> list[Claim]:
    """Return the claims, from formulas. ``results`` is not needed."""
    del results
    return [_random_gradients(), _bound(), _ellipse()]


def _random_gradients() -> Claim:
    few, many = (expected_masked_square(d, votes_needed(d, SHARE)) for d in (MANY // 2, MANY))
    exact, base, printed = (few / many) ** (2 / MANY), decay_base(SHARE), 2 - binomial_growth(SHARE)
    # Without a mask the expected square of a component is 1/d.
    barely = expected_masked_square(MANY, MANY // 2 + 1) * MANY
    return Claim(
        short="Masked random gradients vanish exponentially",
        claim="Proposition 2: masked random gradients vanish exponentially (figure 4).",
        paper="For any t from d/2 + 1 to d they vanish as n / c^d with 1 < c <= 2. The appendix has 2 - q "
        "for c, where q is the growth rate of the binomial coefficient.",
        ours=f"At t = {SHARE:g} d the formula 2/q gives c = {base:.3f}. The exact expectation falls by the "
        f"factor {exact:.3f} per environment between {MANY // 2} and {MANY} environments. The printed 2 - q "
        f"is {printed:.3f}, with which nothing would vanish. If t is d/2 + 1 for every d, no c above 1 "
        f"exists: with {MANY} environments {100 * barely:.1f} % of the unmasked square are left. "
        "In figure 4 the masked steps of drawn gradients lie on this exact expectation.",
        number=f"c = {base:.3f}",
        reading="whether t grows with d as a fixed share of it, and whether 2 - q is a misprint of 2/q.",
        verdict=exponential_rule(exact, base, printed, barely),
    )


def exponential_rule(exact: float, corrected: float, printed: float, barely: float) -> str:
    """Return the verdict on proposition 2.

    Args:
        exact: the factor by which the exact expectation falls per environment, for t a fixed share of d.
        corrected: the c of the corrected formula.
        printed: the c of the printed formula.
        barely: what is left of the square at the smallest t that the proposition allows, as a share of the
            unmasked square, with many environments.
    """
    if exact <= 1:
        return "refuted: nothing vanishes exponentially"
    limits = ["for t a fixed share of d"] if barely > 0.5 else []
    if abs(printed / exact - 1) > SAME:
        if abs(corrected / exact - 1) > SAME:
            return "in part: exponentially, but with neither formula for c"
        limits.append("after a correction of the appendix's formula for c")
    return reproduced(", ".join(limits))


def _bound() -> Claim:
    curvatures = torch.tensor([[1.0], [4.0]], dtype=torch.float64)
    found = inconsistency_of_diagonal(curvatures, 1.0)
    printed, ours = (inconsistency_bound(curvatures, 1.0, constant) for constant in (2.0, 4.0))
    return Claim(
        short="The determinants' ratio bounds the inconsistency",
        claim="Proposition 3: the inconsistency is at most 2 epsilon (det ratio)^2.",
        paper="The constant of the bound is 2.",
        thesis="The constant is 2 too (equation 3.3, for the inconsistency without its sign).",
        ours=f"With curvatures 1 and 4 the inconsistency is {found:.3g} epsilon, and the bound is "
        f"{printed:.4g} epsilon. With the constant 4 it is {ours:.4g} epsilon, and the bound holds for every "
        "pair of curvatures. The printed proof takes the root of epsilon for epsilon.",
        number=f"{found / printed:.2f} times the printed bound",
        verdict=bound_rule(found, printed, ours),
    )


def bound_rule(found: float, printed: float, corrected: float) -> str:
    """Return the verdict on proposition 3, from one pair of curvatures that tests it.

    Args:
        found: the exact inconsistency.
        printed: the bound as printed.
        corrected: the bound with our constant.
    """
    if found <= printed:
        return "undecided: this pair is no counterexample"
    return "refuted: by a counterexample" + (", it holds with the constant 4" if found <= corrected else "")


def _ellipse() -> Claim:
    (area, determinant), (area_5, determinant_5) = (_ratios(small) for small in (0.01, 0.05))
    return Claim(
        short="The pooled ellipse is 100 times larger",
        claim="In figures 3 and 12 the pooled ellipse is 100 times as large as the shared one.",
        paper="The pooled ellipse has 100 times the volume, for Hessians diag(0.01, 1) and diag(1, 0.01).",
        thesis="25 times for the same Hessians (figure B.3), and 5 times for diag(0.05, 1) and diag(1, 0.05) "
        "(figure 3.3).",
        ours=f"The pooled ellipse has {area:.2f} times the area, and {area_5:.2f} times for the thesis's "
        "second pair. These are the thesis's ellipses, with the inverse of the Hessian. With the paper's own "
        "level sets (section 2.2), which have the Hessian itself, the pooled ellipse is smaller by the same "
        f"factors. The ratios of the determinants are {determinant:.1f} and {determinant_5:.2f}. So the "
        "thesis's numbers are ratios of determinants, and an area is their root.",
        number=f"{area:.2f} times the area, determinant {determinant:.1f} times",
        verdict=ellipse_rule(100, {"area": area, "determinant": determinant}, 25),
    )


def ellipse_rule(printed: float, ratios: dict[str, float], thesis: float) -> str:
    """Return the verdict on a printed ratio of volumes.

    Args:
        printed: the ratio that the paper prints.
        ratios: the ratio of the areas and the ratio of the determinants.
        thesis: the ratio that the thesis prints.
    """
    near = {
        number: [name for name, ratio in ratios.items() if abs(ratio / number - 1) < 0.03]
        for number in (printed, thesis)
    }
    if "area" in near[printed]:
        return "reproduced"
    if "area" in near[thesis]:
        return "refuted: corrected by the thesis"
    if "determinant" in near[thesis]:
        return f"refuted: corrected by the thesis to {thesis:g}, the ratio of the determinants"
    return "refuted: by a calculation"


def _ratios(small: float) -> tuple[float, float]:
    """Return the ratios of areas and of determinants, for curvatures 1 and ``small``."""
    hessians = torch.stack([torch.diag(torch.tensor(d)) for d in ([small, 1.0], [1.0, small])]).double()
    pooled, shared = arithmetic_mean(hessians), karcher_mean(hessians)
    determinants = float(torch.linalg.det(pooled) / torch.linalg.det(shared))
    return ellipsoid_volume(pooled) / ellipsoid_volume(shared), determinants
