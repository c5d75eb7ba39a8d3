"""The claims that come from formulas: their numbers can go wrong, and then the verdict does."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiments.theory import patchwork as network
from lab.experiments.theory.claims import masked_descent, patchwork


def test_masked_descent_stays_below_the_bound(tmp_path: Path) -> None:
    (claim,) = masked_descent.claims(tmp_path)
    assert claim.verdict == "reproduced"


def test_the_risk_falls_by_what_the_proof_says() -> None:
    found = masked_descent.masked_descent(0.5)
    # Summed over the steps, lr/2 times the squared norms cannot exceed the risk at the start.
    assert bool((found.lr / 2 * found.squared.sum(0) <= found.risk).all())
    assert bool((found.squared[-1] < 1e-3 * found.squared[0]).all())


def test_a_patchwork_that_both_environments_see_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert patchwork.claims(tmp_path)[0].verdict == "reproduced"
    risks = network.environment_risks
    monkeypatch.setattr(network, "environment_risks", lambda split: risks("interleaved"))
    assert patchwork.claims(tmp_path)[0].verdict == "not reproduced"
