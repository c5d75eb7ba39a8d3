"""The mask in a layer's eigenbasis: against a plain loop, under rotations, and inside a step."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, GramAgreement, LayerAgreement
from ilc.gradients import backward

E = 5


def gradients_of(seed: int, *shape: int) -> Tensor:
    torch.manual_seed(seed)
    return torch.randn(E, *shape, dtype=torch.float64) + 0.5 * torch.randn(*shape, dtype=torch.float64)


def turn(n: int) -> Tensor:
    return torch.linalg.qr(torch.randn(n, n, dtype=torch.float64)).Q


def oracle(gradients: Tensor, threshold: float) -> Tensor:
    """Direction by direction, and environment by environment."""
    left = torch.linalg.eigh((gradients @ gradients.mT).sum(0)).eigenvectors
    right = torch.linalg.eigh((gradients.mT @ gradients).sum(0)).eigenvectors
    update = torch.zeros_like(gradients[0])
    for u in left.T:
        for v in right.T:
            along = [float(u @ one @ v) for one in gradients]
            signs = sum((value > 0) - (value < 0) for value in along)
            if abs(signs) >= threshold * E:
                update += sum(along) / E * torch.outer(u, v)
    return update


@pytest.mark.parametrize("threshold", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("shape", [(6, 4), (3, 7)])
def test_it_is_the_plain_loop(threshold: float, shape: tuple[int, int]) -> None:
    gradients = gradients_of(0, *shape)
    torch.testing.assert_close(LayerAgreement(threshold).update(gradients), oracle(gradients, threshold))


def test_rotations_of_inputs_and_outputs_rotate_the_update() -> None:
    gradients = gradients_of(1, 6, 4)
    outputs, inputs = turn(6), turn(4)
    layer, mask = LayerAgreement(0.6), AndMask(0.6)
    turned = layer.update(outputs @ gradients @ inputs)
    torch.testing.assert_close(turned, outputs @ layer.update(gradients) @ inputs)
    assert 0 < turned.norm() < gradients.mean(0).norm()
    assert not torch.allclose(
        mask(outputs @ gradients @ inputs), outputs @ mask(gradients) @ inputs, rtol=1e-2
    )


def test_one_output_is_gram_agreement() -> None:
    gradients = gradients_of(2, 1, 9)
    rows = gradients.flatten(1)
    weights = GramAgreement(0.6).weights(torch.zeros(E), rows @ rows.T)
    torch.testing.assert_close(LayerAgreement(0.6).update(gradients)[0], weights @ rows)


def test_a_convolution_is_a_matrix_of_its_patches_and_a_vector_is_masked_by_component() -> None:
    kernel, bias = gradients_of(3, 4, 2, 3, 3), gradients_of(4, 4)
    layer = LayerAgreement(0.6)
    torch.testing.assert_close(layer.update(kernel), oracle(kernel.flatten(2), 0.6).view(4, 2, 3, 3))
    torch.testing.assert_close(layer.update(bias), AndMask(0.6)(bias))


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_a_step_has_the_update_of_every_tensor(way: str) -> None:
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    inputs, targets = torch.randn(E, 8, 4, dtype=torch.float64), torch.randint(2, (E, 8))
    each = [
        torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
        for x, y in zip(inputs, targets, strict=True)
    ]
    backward(model, F.cross_entropy, inputs, targets, LayerAgreement(0.6), way)
    for p, *own in zip(model.parameters(), *each, strict=True):
        stacked = torch.stack(own)
        expected = oracle(stacked, 0.6) if p.ndim == 2 else AndMask(0.6)(stacked)
        torch.testing.assert_close(p.grad, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_environment_without_a_part_in_a_component_has_no_vote_there(dtype: torch.dtype) -> None:
    """One environment is at a right angle to the others, so that no component has all votes."""
    gradients = gradients_of(6, 4, 6)
    gradients[:-1, 2:] = gradients[:-1, :, 3:] = gradients[-1, :2] = gradients[-1, :, :3] = 0
    for seed in range(6):
        torch.manual_seed(seed)
        turned = (turn(4) @ gradients @ turn(6)).to(dtype)
        assert not LayerAgreement(1.0).update(turned).any()
    assert LayerAgreement(0.6).update(gradients).any()
