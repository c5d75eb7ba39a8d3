"""What ``hessian_vector`` says of curvature that its products did not find."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.consistency import (
    Consistency,
    Loss,
    consistency_score,
    hessian_vector,
    quadratic,
    score_solution,
)
from ilc.errors import UserError

P = 300


def diagonal(*curvatures: Tensor) -> list[Loss]:
    """Risks whose Hessian is diagonal, with their minimum at zero."""
    return [lambda p, h=h: 0.5 * (h * p.square()).sum() for h in curvatures]  # type: ignore[misc]


def ones(scale: float = 1.0) -> Tensor:
    return torch.full((P,), scale, dtype=torch.float64)


def at_zero(losses: Sequence[Loss], **options: float) -> Consistency:
    return hessian_vector(losses, torch.zeros(P, dtype=torch.float64), 0.01, **options)  # type: ignore[arg-type]


def test_many_equal_curvatures_are_noticed() -> None:
    """Each environment's products find other 60 directions, so that the other one looks flat in them."""
    losses, theta = diagonal(ones(), ones()), torch.zeros(P, dtype=torch.float64)
    assert consistency_score(losses, theta, 0.01) == pytest.approx(-0.01)
    found = at_zero(losses)
    assert found.score == pytest.approx(-0.11, rel=1e-3)
    # The true risk rises by the curvature 1 and not by the damping 0.1 alone.
    assert found.missed_curvature == pytest.approx(10, rel=1e-3)
    with pytest.raises(UserError, match=r"-0\.11, but it is wrong: too few Lanczos steps.*300 find all"):
        consistency_score(losses, theta, 0.01, method="hessian_vector")


def test_as_many_steps_as_parameters_miss_nothing() -> None:
    found = at_zero(diagonal(ones(), ones()), lanczos_steps=P)
    assert found.missed_curvature == 0 and found.score == pytest.approx(-0.01)


def test_it_is_the_difference_of_the_true_change_from_the_model() -> None:
    """Measured here with the risks themselves, which are quadratic and have no gradient."""
    rising = torch.linspace(0.5, 1, P, dtype=torch.float64)
    losses = diagonal(rising, rising.flip(0))
    found = at_zero(losses, damping=0.5)
    shares = []
    for e, unit in zip(found.pair, (0.01, found.inconsistency), strict=True):
        # The model has a rise of epsilon at home and the gap at the other, with a diagonal of 0.5 times the
        # largest curvature, 1.
        damped = 0.5 * 0.5 * float(found.step.square().sum())
        shares.append(abs(float(losses[e](found.step)) + damped - unit) / unit)
    assert found.missed_curvature == pytest.approx(max(shares), rel=0.01) and max(shares) > 0.01


def test_negative_curvature_is_not_counted_as_missed() -> None:
    """It counts as zero on purpose, and has its own number."""
    curvatures = torch.cat([torch.linspace(0.1, 1, 20), -0.05 * torch.ones(P - 20)]).double()
    slope = torch.zeros(P, dtype=torch.float64)
    slope[25] = 1.0
    losses = [lambda p, h=h: 0.5 * (h * p.square()).sum() + slope @ p for h in (curvatures, 2 * curvatures)]
    found = at_zero(losses)
    exact = quadratic(losses, torch.zeros(P, dtype=torch.float64), 0.01)
    assert found.negative_curvature > 0.04 and found.missed_curvature < 0.1
    assert found.score == pytest.approx(exact.score, rel=0.05)


def test_a_small_share_warns_and_a_network_has_none() -> None:
    few_large = torch.cat([torch.linspace(0.5, 1, 20), torch.full((P - 20,), 1e-4)]).double()
    losses, theta = diagonal(few_large, few_large.flip(0)), torch.zeros(P, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = consistency_score(losses, theta, 0.01, method="hessian_vector", damping=0.1)
    assert score == pytest.approx(quadratic(losses, theta, 0.01).score, rel=0.01)
    tail = torch.cat([torch.linspace(0.5, 1, 20), torch.full((P - 20,), 0.04)]).double()
    with pytest.warns(UserWarning, match="may mislead: too few Lanczos steps"):
        consistency_score(diagonal(tail, tail.flip(0)), theta, 0.01, method="hessian_vector", damping=0.1)


def test_score_solution_names_the_lanczos_steps_and_not_the_quadratic_model() -> None:
    torch.manual_seed(0)
    inputs = torch.linalg.qr(torch.randn(2 * P, P, dtype=torch.float64))[0] * (2 * P) ** 0.5
    model = nn.Linear(P, 1, bias=False).double()
    targets = model(inputs).detach()
    with pytest.warns(UserWarning, match="too few Lanczos steps") as said:
        found = score_solution(
            model, F.mse_loss, torch.stack([inputs] * 2), torch.stack([targets] * 2), groups=0
        )
    assert len(said) == len(found.warnings) == 1 and "does not hold" not in found.warnings[0]
    assert found.found.missed_curvature == pytest.approx(10, rel=1e-3)
