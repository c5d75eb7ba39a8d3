import math

import pytest
import torch

from ilc.consistency import consistency_score, hessian_vector, quadratic
from ilc.consistency._ball import maximize_in_ball
from ilc.errors import UserError


def quadratics(*parts):
    """Losses c + b.s + 1/2 s.H s from (H, b, c)."""
    return [lambda s, h=h, b=b, c=c: c + b @ s + 0.5 * s @ h @ s for h, b, c in parts]


def diagonal(*entries):
    return torch.diag(torch.tensor(entries, dtype=torch.float64))


def draw(generator, n):
    m = torch.randn(n, n, generator=generator, dtype=torch.float64)
    slope = torch.randn(n, generator=generator, dtype=torch.float64)
    return (
        m @ m.T + 0.1 * torch.eye(n, dtype=torch.float64),
        slope,
        torch.randn((), generator=generator).double(),
    )


ZERO = torch.zeros((), dtype=torch.float64)


def centred(*hessians):
    return quadratics(*((h, torch.zeros(len(h), dtype=torch.float64), ZERO) for h in hessians))


@pytest.mark.parametrize("method", ["quadratic", "hessian_vector"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_two_diagonal_quadratics_score_epsilon_times_the_largest_curvature_ratio(method, epsilon):
    losses = centred(diagonal(0.01, 1.0, 3.0), diagonal(1.0, 0.02, 2.0))
    score = consistency_score(losses, torch.zeros(3, dtype=torch.float64), epsilon, method)
    assert score == pytest.approx(-epsilon * 100, abs=1e-6)


def test_search_finds_the_curvature_ratio_from_below():
    losses = centred(diagonal(0.5, 1.0), diagonal(1.0, 0.1))
    score = consistency_score(losses, torch.zeros(2, dtype=torch.float64), 0.1, "search", starts=8)
    assert -1.0 - 1e-9 <= score <= -0.999


@pytest.mark.parametrize("method", ["quadratic", "hessian_vector"])
def test_identical_environments_reach_the_lowest_inconsistency_which_is_epsilon(method):
    generator = torch.Generator().manual_seed(0)
    h = draw(generator, 4)[0]
    start = torch.zeros(4, dtype=torch.float64)
    assert consistency_score(centred(h, h, h), start, 0.2, method) == pytest.approx(-0.2, rel=1e-9)
    for _ in range(5):
        assert consistency_score(centred(h, draw(generator, 4)[0]), start, 0.2, method) < -0.2


def brute_force(parts, epsilon):
    """Largest gap over a fine grid of each ellipse's inside and border, in the plane."""
    best = 0.0
    angle = torch.linspace(0, 2 * math.pi, 20001, dtype=torch.float64)
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    for h, b, c in parts:
        newton = torch.linalg.solve(h, b)
        radius = (2 * epsilon + b @ newton).sqrt()
        root = torch.linalg.inv(torch.linalg.cholesky(h))
        for share in (0.25, 0.5, 0.75, 1.0):
            s = share * radius * circle @ root - newton
            for h2, b2, c2 in parts:
                best = max(best, float((c2 + s @ b2 + 0.5 * ((s @ h2) * s).sum(1) - c).abs().max()))
    return best


def test_with_gradients_the_score_agrees_with_a_grid_over_the_ellipses():
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        parts = [draw(generator, 2) for _ in range(3)]
        found = quadratic(quadratics(*parts), torch.zeros(2, dtype=torch.float64), 0.3)
        assert found.inconsistency == pytest.approx(brute_force(parts, 0.3), rel=1e-5)


def test_a_gap_is_as_large_where_the_other_risk_is_the_lower_one():
    """Two bowls of equal curvature, at heights 1 and 0. The lower one is farthest below at its bottom."""
    bowl, flat = diagonal(1.0, 1.0), torch.zeros(2, dtype=torch.float64)
    losses = quadratics((bowl, flat, ZERO + 1), (bowl, flat, ZERO))
    expected = torch.tensor([[0.1, 1.0], [1.1, 0.1]], dtype=torch.float64)
    for form in (quadratic, hessian_vector):
        torch.testing.assert_close(form(losses, flat, 0.1).gaps, expected, rtol=1e-6, atol=1e-6)


def test_the_reported_step_is_inside_and_attains_the_gap():
    generator = torch.Generator().manual_seed(2)
    parts = [draw(generator, 5) for _ in range(3)]
    losses, start = quadratics(*parts), torch.zeros(5, dtype=torch.float64)
    for found in (quadratic(losses, start, 0.3), hessian_vector(losses, start, 0.3)):
        e, other = found.pair
        assert losses[e](found.step) - losses[e](start) == pytest.approx(0.3, rel=1e-6)
        gap = (losses[other](found.step) - losses[e](start)).abs()
        assert gap == pytest.approx(found.inconsistency, rel=1e-6)
        assert found.gaps.shape == (3, 3)


def test_the_order_of_environments_and_a_rotation_of_parameters_change_nothing():
    generator = torch.Generator().manual_seed(3)
    parts = [draw(generator, 4) for _ in range(3)]
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64))
    start = torch.zeros(4, dtype=torch.float64)
    score = quadratic(quadratics(*parts), start, 0.1).score
    turned = [(q.T @ h @ q, q.T @ b, c) for h, b, c in reversed(parts)]
    assert quadratic(quadratics(*turned), start, 0.1).score == pytest.approx(score, rel=1e-8)


def test_a_flat_environment_is_limited_by_the_damping_alone():
    losses = centred(diagonal(0.0, 1.0), diagonal(1.0, 1.0))
    score = quadratic(losses, torch.zeros(2, dtype=torch.float64), 0.1, damping=1e-3).score
    assert score == pytest.approx(-0.1 * 1.001 / 0.001, rel=1e-9)


def test_a_linear_risk_and_negative_curvature_are_accepted():
    start = torch.zeros(2, dtype=torch.float64)
    losses = [lambda s: s.sum(), lambda s: 0.5 * (s[0] ** 2 - s[1] ** 2)]
    assert math.isfinite(quadratic(losses, start, 0.1, damping=0.1).score)
    assert math.isfinite(hessian_vector(losses, start, 0.1, damping=0.1).score)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_the_maximum_in_a_ball_beats_every_point_and_is_attained(n):
    generator = torch.Generator().manual_seed(n)
    for trial in range(30):
        curvatures = torch.randn(n, generator=generator, dtype=torch.float64)
        slopes = torch.randn(n, generator=generator, dtype=torch.float64)
        if trial % 3 == 0:
            slopes[curvatures.argmax()] = 0.0  # the hard case
        if trial % 5 == 0:
            slopes.zero_()
        value, y = maximize_in_ball(curvatures, slopes, 0.7)
        assert float(y.norm()) <= 0.7 * (1 + 1e-9)
        assert value == pytest.approx(float(slopes @ y + 0.5 * (curvatures * y**2).sum()), abs=1e-12)
        points = torch.randn(4000, n, generator=generator, dtype=torch.float64)
        shares = torch.rand(4000, 1, generator=generator, dtype=torch.float64) ** (1 / n)
        points = torch.cat([0.7 * points / points.norm(dim=1, keepdim=True) * s for s in (shares, 1.0)])
        assert float((points @ slopes + 0.5 * points.square() @ curvatures).max()) <= value + 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"losses": centred(diagonal(1.0))}, "at least two"),
        ({"theta_star": torch.zeros(1, 1)}, "flatten"),
        ({"theta_star": torch.tensor([math.nan])}, "NaN"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"method": "guess"}, "method must be one of"),
        ({"steps": 3}, "no option"),
        ({"damping": 0.0}, "damping"),
        ({"losses": [lambda s: s, lambda s: s.repeat(2)]}, "scalar"),
        ({"losses": [lambda s: s.sum() / 0, lambda s: s.sum()]}, "finite"),
        ({"losses": [lambda s: torch.ones(()), lambda s: s.sum()]}, "depend"),
        ({"losses": lambda s: s.sum()}, "a list of functions"),
        ({"theta_star": [0.0]}, "got list"),
        ({"epsilon": "small"}, "epsilon must be a number"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {
        "losses": centred(diagonal(1.0), diagonal(2.0)),
        "theta_star": torch.zeros(1, dtype=torch.float64),
        "epsilon": 0.1,
    }
    with pytest.raises(UserError, match=message):
        consistency_score(**(arguments | change))


NO_MINIMA = {
    "maximum": (diagonal(-1.0, -2.0, -0.5), float("inf")),
    "saddle": (diagonal(1.0, -0.5, 2.0), 0.25),
    "weak saddle": (diagonal(1.0, -0.05, 2.0), 0.025),
}


@pytest.mark.parametrize("method", ["quadratic", "hessian_vector"])
@pytest.mark.parametrize("kind", NO_MINIMA)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_saddles_and_maxima_have_no_second_order_score(method, kind, dtype, place, turned):
    curvature, share = NO_MINIMA[kind]
    others = [curvature if kind == "maximum" else diagonal(2.0, 1.0, 2.0) for _ in range(3)]
    others[place] = curvature
    if turned:
        generator = torch.Generator().manual_seed(place)
        basis = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64)).Q
        others = [basis @ h @ basis.T for h in others]
    losses = [lambda s, h=h: 0.5 * s @ h.to(dtype) @ s for h in others]
    start = torch.zeros(3, dtype=dtype)
    what = "maximum" if kind == "maximum" else "saddle"
    with pytest.raises(UserError, match=f"{what} of an environment's risk.*search"):
        consistency_score(losses, start, 0.1, method)
    score = {"quadratic": quadratic, "hessian_vector": hessian_vector}[method]
    with pytest.raises(UserError, match=what):
        score(losses, start, 0.1, damping=1e-3)
    # Where there is a slope, the result says what it leaves out, and a bare number is refused.
    sloping = [lambda s, loss=loss: loss(s) + s.sum() for loss in losses]
    assert score(sloping, start, 0.1, damping=1e-3).negative_curvature == pytest.approx(share, rel=1e-3)
    with pytest.raises(UserError, match=what):
        consistency_score(sloping, start, 0.1, method)
    if share < 1:
        assert math.isfinite(consistency_score(losses, start, 0.1, method, damping=2 * share))


@pytest.mark.parametrize("method", ["quadratic", "hessian_vector"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_flat_directions_and_rounding_are_no_saddle(method, dtype):
    generator = torch.Generator().manual_seed(0)
    for n in (2, 10, 40):
        half = torch.randn(n, n // 2, generator=generator, dtype=dtype)
        losses = [lambda s, h=half: (h.T @ s).square().sum(), lambda s, h=half: 2 * (h.T @ s).square().sum()]
        assert math.isfinite(consistency_score(losses, torch.zeros(n, dtype=dtype), 0.1, method))
        score = {"quadratic": quadratic, "hessian_vector": hessian_vector}[method]
        assert score(losses, torch.zeros(n, dtype=dtype), 0.1).negative_curvature < 1e-5
