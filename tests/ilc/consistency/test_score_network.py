import pytest
import torch
from torch.nn import functional as F

from ilc.consistency import environment_losses, hessian_vector, quadratic
from ilc.consistency._derivatives import LocalRisk
from ilc.consistency._lanczos import lanczos
from lab.models import MLP


def trained_network(steps):
    """A small perceptron, float64, and data whose environments differ."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = MLP(6, 2, hidden_units=10, hidden_layers=2).double()
    inputs = torch.randn(4, 40, 6, generator=generator, dtype=torch.float64)
    shift = torch.randn(4, 1, 6, generator=generator, dtype=torch.float64)
    targets = ((inputs * shift).sum(-1) > 0).long()
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs.flatten(0, 1)), targets.flatten()).backward()
        optimizer.step()
    return environment_losses(model, F.cross_entropy, inputs, targets)


@pytest.mark.parametrize(("damping", "options"), [(1e-1, {}), (1e-2, {}), (1e-3, {"lanczos_steps": 120})])
@pytest.mark.parametrize("steps", [0, 150])
def test_hessian_vector_form_agrees_with_the_exact_one_within_five_per_cent(damping, options, steps):
    losses, theta = trained_network(steps)
    assert len(theta) == 202
    exact = quadratic(losses, theta, 0.05, damping=damping)
    fast = hessian_vector(losses, theta, 0.05, damping=damping, **options)
    assert fast.score == pytest.approx(exact.score, rel=0.05)
    if steps:  # a solution: every pair agrees, not only the worst
        assert torch.allclose(fast.gaps, exact.gaps, rtol=0.05)


def test_environment_losses_are_the_models_risks():
    generator = torch.Generator().manual_seed(0)
    model = MLP(3, 2, hidden_units=4, hidden_layers=1)
    inputs, targets = (
        torch.randn(2, 5, 3, generator=generator),
        torch.randint(0, 2, (2, 5), generator=generator),
    )
    losses, theta = environment_losses(model, F.cross_entropy, inputs, targets)
    for loss, x, y in zip(losses, inputs, targets, strict=True):
        assert torch.allclose(loss(theta), F.cross_entropy(model(x), y))
    assert float(losses[0](theta + 0.1)) != float(losses[0](theta))


def test_hessian_products_agree_with_torch_func():
    losses, theta = trained_network(0)
    local = LocalRisk(losses[0], theta)
    assert torch.allclose(local.hessian(), torch.autograd.functional.hessian(losses[0], theta), atol=1e-10)


def test_lanczos_with_all_steps_is_the_whole_decomposition_even_with_repeated_eigenvalues():
    generator = torch.Generator().manual_seed(0)
    q, _ = torch.linalg.qr(torch.randn(6, 6, generator=generator, dtype=torch.float64))
    matrix = q @ torch.diag(torch.tensor([2.0, 2.0, 2.0, 0.0, 0.0, -1.0], dtype=torch.float64)) @ q.T
    start = torch.randn(6, generator=generator, dtype=torch.float64)
    values, vectors = lanczos(lambda v: matrix @ v, start, 6, generator)
    assert torch.allclose((vectors.T * values) @ vectors, matrix, atol=1e-9)
    assert torch.allclose(vectors @ vectors.T, torch.eye(6, dtype=torch.float64), atol=1e-12)
