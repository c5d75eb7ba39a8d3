"""The update in the basis of LoRA's product under random changes of its factors."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from change_of_basis.layer import D_IN, RANK, LowRankLayer, batch, change_of_basis, layer, rotation
from change_of_basis.movement import AGGREGATORS, IN_BASIS, movements, stepped
from ilc import AndMask
from ilc.aggregators import GradDrop
from ilc.gradients import backward
from ilc.lora import product_basis


@pytest.mark.slow
@settings(max_examples=16)
@given(
    seed=st.integers(0, 2**20),
    condition=st.floats(1, 100),
    name=st.sampled_from(list(AGGREGATORS)),
    b_size=st.sampled_from([0.0, 1e-3, 1.0]),
    n_steps=st.integers(1, 2),
)
def test_no_basis_moves_the_update(
    seed: int, condition: float, name: str, b_size: float, n_steps: int
) -> None:
    basis = change_of_basis(seed, condition)
    (moved,) = movements(layer(seed, b_size), stepped(name + IN_BASIS, n_steps=n_steps), [basis])
    assert moved < 1e-6


@pytest.mark.parametrize("name", ["AND-mask, threshold .5", "AND-mask, threshold 1", "SAND-mask"])
def test_without_the_block_a_rotation_moves_the_update(name: str) -> None:
    assert min(movements(layer(), stepped(name), [rotation(seed) for seed in range(3)])) > 0.1


def test_equal_singular_values_and_fewer_outputs_than_directions() -> None:
    """The product alone does not determine its singular vectors there."""
    equal = layer()
    with torch.no_grad():
        for p in (equal.lora_A, equal.lora_B):
            u, _, v = torch.linalg.svd(p.detach(), full_matrices=False)
            p.copy_(2 * u @ v)
    step = stepped(f"AND-mask, threshold 1{IN_BASIS}")
    bases = [change_of_basis(seed) for seed in range(5)]
    assert max(movements(equal, step, bases)) < 1e-6
    narrow = layer(d_out=2)
    inputs, targets = batch(d_out=2)

    def narrow_step(model: LowRankLayer) -> None:
        with product_basis(model):
            backward(model, F.mse_loss, inputs, targets, AndMask(0.5), "sequential")
        torch.optim.SGD(model.parameters(), 0.1).step()

    assert max(movements(narrow, narrow_step, bases)) < 1e-6


def test_an_aggregator_that_looks_at_the_sign_itself_does_not_move() -> None:
    """``GradDrop`` draws which sign it keeps, so that the direction of each vector matters."""
    inputs, targets = batch()

    def step(model: LowRankLayer) -> None:
        torch.manual_seed(0)
        with product_basis(model):
            backward(model, F.mse_loss, inputs, targets, GradDrop(), "sequential")
        torch.optim.SGD(model.parameters(), 0.1).step()

    assert max(movements(layer(), step, [change_of_basis(seed) for seed in range(5)])) < 1e-6


@pytest.mark.parametrize("b_size", [0.0, 1e-3, 0.3])
def test_single_precision_moves_by_rounding(b_size: float) -> None:
    inputs, targets = (values.float() for values in batch())
    updates = []
    for basis in (torch.eye(RANK, dtype=torch.float64), *(change_of_basis(seed) for seed in range(6))):
        model = layer(b_size=b_size).with_factors(basis).float()
        with product_basis(model):
            backward(model, F.mse_loss, inputs, targets, AndMask(1.0))
        a, b = model.lora_A, model.lora_B
        assert a.grad is not None and b.grad is not None
        updates.append((b.double() @ a.grad.double() + b.grad.double() @ a.double()).detach())
    for update in updates[1:]:
        assert float((update - updates[0]).norm()) < 1e-5 * float(updates[0].norm())


class Embedding(nn.Module):
    """As in ``peft``: the factor of the words starts at zero, and the other one at random."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lora_embedding_A = nn.Parameter(torch.zeros(3, D_IN, dtype=torch.float64))
        self.lora_embedding_B = nn.Parameter(torch.randn(8, 3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x.abs().mul(9).long() % D_IN, self.lora_embedding_A.T) @ self.lora_embedding_B.T


class Convolution(nn.Module):
    """As in ``peft``: patches to r channels, and these to the outputs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lora_A = nn.Parameter(torch.randn(3, 2, 3, 3, dtype=torch.float64))
        self.lora_B = nn.Parameter(torch.randn(5, 3, 1, 1, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(F.conv2d(x.reshape(-1, 2, 4, 4), self.lora_A), self.lora_B)


@pytest.mark.parametrize("kind", [Embedding, Convolution])
def test_embeddings_and_convolutions(kind: type[nn.Module]) -> None:
    inputs, _ = batch()
    products = []
    for seed in range(4):
        model = kind()
        a, b = model.parameters()
        basis = change_of_basis(seed, rank=3) if seed else torch.eye(3, dtype=torch.float64)
        with torch.no_grad():
            a.copy_((basis @ a.flatten(1)).view_as(a))
            b.copy_(torch.linalg.solve(basis, b.flatten(1), left=False).view_as(b))
        before = (b.flatten(1) @ a.flatten(1)).detach()
        with product_basis(model):
            backward(model, lambda y: (y - 1).square().mean(), inputs, None, AndMask(0.5), "sequential")
        torch.optim.SGD([a, b], 0.1).step()
        products.append((b.flatten(1) @ a.flatten(1)).detach() - before)
    assert float(products[0].norm()) > 0
    for product in products[1:]:
        torch.testing.assert_close(product, products[0], rtol=1e-6, atol=1e-9)
