import itertools
import math

import pytest
import torch

from ilc.aggregators import AndMask
from ilc.consistency import quadratic
from lab.experiments.theory.propositions import (
    binomial_growth,
    decay_base,
    expected_masked_square,
    inconsistency_bound,
    inconsistency_of_diagonal,
    keep_probability,
    masked_descent,
    masked_square_bound,
    simulate_squares,
    votes_needed,
)


def test_proposition_1_the_best_masked_gradient_falls_like_one_over_k():
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(4, 6, generator=generator, dtype=torch.float64)
    # log cosh has curvature at most 1: the learning rate may be 1
    losses = [lambda s, c=c: (s - c).cosh().log().sum() for c in centres]
    start = 3 * torch.randn(6, generator=generator, dtype=torch.float64)
    norms = masked_descent(losses, start, 1.0, 200, AndMask(1.0))
    initial = float(torch.stack([loss(start) for loss in losses]).mean())
    k = torch.arange(1, 201, dtype=torch.float64)
    assert bool((norms.cummin(0).values <= 2 * initial / k).all())
    assert float(norms[0]) > 0.1  # the mask kept something to descend on


@pytest.mark.parametrize(("d", "t"), [(2, 2), (5, 4), (8, 7), (9, 9)])
def test_the_keep_probability_counts_sign_patterns(d, t):
    kept = sum(max(sum(signs), d - sum(signs)) >= t for signs in itertools.product((0, 1), repeat=d))
    assert keep_probability(d, t) == pytest.approx(kept / 2**d)


@pytest.mark.parametrize("d", [2, 4, 10, 16])
def test_proposition_2_draws_agree_with_the_exact_masked_square(d):
    t, n = votes_needed(d), 200_000
    plain, masked = simulate_squares(d, t, n, torch.Generator().manual_seed(d))
    assert plain / n == pytest.approx(1 / d, rel=0.03)
    assert masked / n == pytest.approx(expected_masked_square(d, t), rel=0.06)
    assert expected_masked_square(d, t) <= masked_square_bound(d, t)


def test_proposition_2_decays_at_the_corrected_rate():
    assert binomial_growth(0.8) == pytest.approx(1.649, abs=1e-3)
    assert decay_base(0.8) == pytest.approx(1.213, abs=1e-3)
    per_environment = (expected_masked_square(200, 160) / expected_masked_square(400, 320)) ** (1 / 200)
    assert per_environment == pytest.approx(decay_base(0.8), abs=0.01)
    assert 2 - binomial_growth(0.8) < 1  # the printed base would let the bound grow
    assert masked_square_bound(10, 10) > 0  # the printed factor d - t would make it 0


def test_proposition_3_holds_with_constant_four():
    generator = torch.Generator().manual_seed(0)
    for n in (1, 2, 5):
        for _ in range(200):
            curvatures = torch.exp(3 * torch.randn(2, n, generator=generator, dtype=torch.float64))
            assert inconsistency_of_diagonal(curvatures, 0.1) <= inconsistency_bound(curvatures, 0.1) * (
                1 + 1e-12
            )


def test_proposition_3_fails_with_the_printed_constant():
    curvatures = torch.tensor([[1.0], [4.0]], dtype=torch.float64)
    assert inconsistency_of_diagonal(curvatures, 1.0) == 4.0
    assert inconsistency_bound(curvatures, 1.0, constant=2.0) == pytest.approx(3.125)
    losses = [lambda s, c=c: 0.5 * c * (s @ s) for c in (1.0, 4.0)]
    assert quadratic(losses, torch.zeros(1, dtype=torch.float64), 1.0).inconsistency == pytest.approx(
        4.0, abs=1e-6
    )
    # in one dimension it fails exactly above the ratio 1 + sqrt 2
    for ratio, holds in ((1 + math.sqrt(2) - 1e-6, True), (1 + math.sqrt(2) + 1e-6, False)):
        pair = torch.tensor([[1.0], [ratio]], dtype=torch.float64)
        assert (inconsistency_of_diagonal(pair, 1.0) <= inconsistency_bound(pair, 1.0, 2.0)) is holds
