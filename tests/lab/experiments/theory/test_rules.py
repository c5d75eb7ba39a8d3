"""Every rule on the theory can come out in every way that makes sense; a false theorem is refuted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.experiments.theory.claims.masked_descent import descent_rule
from lab.experiments.theory.claims.patchwork import patchwork_rule
from lab.experiments.theory.claims.propositions import bound_rule, ellipse_rule, exponential_rule
from lab.experiments.theory.claims.solutions import Comparison, consistency_rule, regression_rule
from lab.figures.verdicts import kind_of

SURE, OPEN = 0.001, 0.4


MORE, LESS = [(0.5, SURE), (0.9, SURE)], [(2.0, SURE), (1.1, SURE)]
"""The ratios with two dampings, and their p values."""


def compared(**ratios: list[tuple[float, float]]) -> dict[str, list[Comparison]]:
    return {name: [Comparison(*values) for values in of] for name, of in ratios.items()}


CASES: list[tuple[Callable[[], str], str]] = [
    (lambda: descent_rule(0.41), "reproduced"),
    (lambda: descent_rule(1 + 1e-12), "reproduced"),
    (lambda: descent_rule(1.5), "refuted: a problem has 1.50 times the bound"),
    (lambda: patchwork_rule(1e-13, 1.0), "reproduced"),
    (lambda: patchwork_rule(1e-13, 0.05), "in part: the score is only a little negative"),
    (lambda: patchwork_rule(1e-13, 0.005), "refuted: the score is not negative"),
    (lambda: patchwork_rule(0.02, 1.0), "refuted: A does not accept the change"),
    (lambda: exponential_rule(1.2, 1.2, 1.2, 0.0), "reproduced"),
    (lambda: exponential_rule(1.2, 1.2, 1.2, 0.99), "in part: for t a fixed share of d"),
    (
        lambda: exponential_rule(1.2, 1.2, 0.4, 0.99),
        "in part: for t a fixed share of d, after a correction of the appendix's formula for c",
    ),
    (lambda: exponential_rule(1.2, 1.5, 0.4, 0.0), "in part: exponentially, but with neither formula for c"),
    (lambda: exponential_rule(1.0, 1.2, 1.2, 0.0), "refuted: nothing vanishes exponentially"),
    (lambda: bound_rule(4.0, 3.1, 6.2), "refuted: by a counterexample, it holds with the constant 4"),
    (lambda: bound_rule(7.0, 3.1, 6.2), "refuted: by a counterexample"),
    (lambda: bound_rule(3.0, 3.1, 6.2), "undecided: this pair is no counterexample"),
    (lambda: ellipse_rule(5, {"area": 5.05, "determinant": 25.5}, 25), "reproduced"),
    (lambda: ellipse_rule(100, {"area": 25.0, "determinant": 625.0}, 25), "refuted: corrected by the thesis"),
    (
        lambda: ellipse_rule(100, {"area": 5.05, "determinant": 25.5}, 25),
        "refuted: corrected by the thesis to 25, the ratio of the determinants",
    ),
    (lambda: ellipse_rule(100, {"area": 7.0, "determinant": 49.0}, 25), "refuted: by a calculation"),
    (lambda: regression_rule({"AND-mask": 20, "geometric mean": 20}, 20), "reproduced"),
    (
        lambda: regression_rule({"AND-mask": 20, "geometric mean": 3}, 20),
        "in part: AND-mask in 20 of 20 seeds, geometric mean in 3 of 20 seeds",
    ),
    (lambda: regression_rule({"AND-mask": 10, "geometric mean": 3}, 20), "not reproduced"),
    (lambda: regression_rule({"AND-mask": 2, "geometric mean": 2}, 2), "undecided: 2 seeds"),
    (lambda: consistency_rule(compared(here=MORE, there=MORE)), "reproduced"),
    (
        lambda: consistency_rule(compared(here=MORE, there=LESS)),
        "in part: more consistent on here; less consistent on there",
    ),
    (
        lambda: consistency_rule(compared(here=MORE, there=[(0.9, OPEN), (0.9, OPEN)])),
        "in part: more consistent on here; open on there",
    ),
    # One damping is not enough, and neither are two that say the opposite.
    (
        lambda: consistency_rule(compared(here=LESS, there=[(0.6, SURE), (0.5, OPEN)])),
        "undecided: less consistent on here; open on there",
    ),
    # Solutions that fit the data worse do not decide.
    (lambda: consistency_rule(compared(here=MORE, there=LESS), ["there"]), "reproduced"),
    (
        lambda: consistency_rule(compared(here=[(0.6, OPEN), (0.5, OPEN)], there=LESS), ["there"]),
        "undecided: no difference is significant with each damping",
    ),
    (
        lambda: consistency_rule(compared(here=LESS), ["here"]),
        "undecided: no difference is significant with each damping",
    ),
    (
        lambda: consistency_rule(compared(here=LESS, there=[(0.6, SURE), (1.5, SURE)], far=LESS)),
        "not reproduced: less consistent on here, far; open on there",
    ),
    # Comparisons share the level.
    (
        lambda: consistency_rule(compared(here=[(0.6, 0.03), (0.6, 0.03)])),
        "undecided: no difference is significant with each damping",
    ),
]


@pytest.mark.parametrize(("rule", "verdict"), CASES, ids=[verdict[:60] for _, verdict in CASES])
def test_made_up_numbers_decide(rule: Callable[[], str], verdict: str) -> None:
    assert rule() == verdict
    assert verdict.startswith(kind_of(verdict))
