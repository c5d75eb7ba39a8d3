import math

import pytest
import torch

from ilc.consistency import (
    arithmetic_mean,
    diagonal_geometric_mean,
    ellipsoid_volume,
    geometric_mean_of_two,
    karcher_mean,
)
from ilc.errors import UserError


def positive_definite(seed, *shape):
    m = torch.randn(*shape, shape[-1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return m @ m.mT + 0.2 * torch.eye(shape[-1], dtype=torch.float64)


@pytest.mark.parametrize("seed", range(4))
def test_the_karcher_mean_of_two_has_its_closed_form(seed):
    a, b = positive_definite(seed, 2, 5)
    assert torch.allclose(karcher_mean(torch.stack([a, b])), geometric_mean_of_two(a, b), atol=1e-8)


def test_matrices_of_different_sizes_are_refused():
    with pytest.raises(UserError, match="must have the same shape"):
        geometric_mean_of_two(torch.eye(2), torch.eye(3))


@pytest.mark.parametrize("seed", range(4))
def test_determinants_of_means_are_ordered_and_the_geometric_one_is_the_geometric_mean(seed):
    hessians = positive_definite(seed, 4, 3)
    and_, or_ = karcher_mean(hessians), arithmetic_mean(hessians)
    assert torch.linalg.det(and_) == pytest.approx(
        float(torch.linalg.det(hessians).log().mean().exp()), rel=1e-8
    )
    assert 0 <= torch.linalg.det(and_) <= torch.linalg.det(or_)
    assert float(torch.linalg.eigvalsh(or_ - and_)[0]) >= -1e-10  # the matrix inequality of the means


def test_the_karcher_mean_is_congruence_invariant_and_symmetric_in_its_arguments():
    hessians = positive_definite(0, 3, 4)
    m = torch.randn(4, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    assert torch.allclose(
        karcher_mean(m.T @ hessians @ m), m.T @ karcher_mean(hessians) @ m, rtol=1e-7, atol=1e-9
    )
    assert torch.allclose(karcher_mean(hessians.flip(0)), karcher_mean(hessians), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_karcher_mean_of_badly_conditioned_matrices_is_found(seed):
    """Curvatures from 0.01 to 100 in different directions: with whole steps there is no convergence."""
    generator = torch.Generator().manual_seed(seed)
    turns = torch.linalg.qr(torch.randn(3, 3, 3, generator=generator, dtype=torch.float64)).Q
    curvatures = torch.tensor([0.01, 1.0, 100.0], dtype=torch.float64)
    hessians = (turns * curvatures) @ turns.mT
    hessians = (hessians + hessians.mT) / 2
    inverse = torch.linalg.inv(torch.linalg.cholesky(karcher_mean(hessians)))
    values, basis = torch.linalg.eigh(inverse @ hessians @ inverse.T)
    logs = (basis * values.log()[:, None]) @ basis.mT
    assert float(logs.mean(0).norm()) < 1e-8 * float(logs.norm())


def test_diagonal_matrices_have_the_entrywise_mean_and_one_zero_makes_a_zero():
    entries = torch.rand(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.1
    diagonal = torch.diag_embed(entries)
    assert torch.allclose(karcher_mean(diagonal), diagonal_geometric_mean(diagonal), atol=1e-10)
    entries[1, 2] = 0.0
    assert diagonal_geometric_mean(torch.diag_embed(entries))[2, 2] == 0.0


def test_gradient_of_the_geometric_mean_is_the_geometric_mean_of_gradients():
    """Thesis, section 3.2: from Hessians to gradients."""
    entries = torch.rand(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1
    step = torch.rand(4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    gradients = entries * step
    and_ = diagonal_geometric_mean(torch.diag_embed(entries))
    assert torch.allclose(and_ @ step, gradients.log().mean(0).exp())
    assert bool(((and_ @ step) <= gradients.mean(0) + 1e-12).all())  # never faster


def test_volumes_of_the_papers_ellipses():
    pair = torch.diag_embed(torch.tensor([[0.01, 1.0], [1.0, 0.01]], dtype=torch.float64))
    or_, and_ = arithmetic_mean(pair), diagonal_geometric_mean(pair)
    assert ellipsoid_volume(or_) / ellipsoid_volume(and_) == pytest.approx(5.05)
    assert ellipsoid_volume(and_) == pytest.approx(ellipsoid_volume(pair[0])) == pytest.approx(math.pi * 0.1)
    assert float(torch.linalg.det(or_) / torch.linalg.det(and_)) == pytest.approx(25.5, abs=0.01)


@pytest.mark.parametrize(
    "hessians", [torch.zeros(2, 2, 2), torch.eye(2), torch.tensor([[[1.0, 2.0], [0.0, 1.0]]])]
)
def test_matrices_without_a_geometric_mean_are_refused(hessians):
    with pytest.raises(UserError):
        karcher_mean(hessians)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_matrices_of_half_precision_have_a_mean_in_double_precision(dtype):
    pair = torch.tensor([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.5], [0.5, 4.0]]])
    assert torch.equal(karcher_mean(pair.to(dtype)), karcher_mean(pair))


def test_a_matrix_that_is_not_diagonal_is_refused():
    with pytest.raises(UserError, match="diagonal"):
        diagonal_geometric_mean(torch.ones(1, 2, 2))
