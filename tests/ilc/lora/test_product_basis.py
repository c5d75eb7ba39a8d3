"""Votes in the basis of LoRA's product: against the full matrix, and what the block leaves alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from change_of_basis.layer import RANK, E, LowRankLayer, batch, change_of_basis, layer
from ilc import AndMask, accumulate
from ilc.gradients import PER_EXAMPLE, WAYS, backward
from ilc.lora import product_basis


def oracle(model: LowRankLayer, inputs: Tensor, targets: Tensor, threshold: float) -> Tensor:
    """The update of the product, with every matrix written and every vote counted by itself."""
    full = model.product.requires_grad_()
    rows = [
        torch.autograd.grad(F.mse_loss(x @ (model.weight + full).T, y), full)[0]
        for x, y in zip(inputs, targets, strict=True)
    ]
    u, s, v = torch.linalg.svd(full.detach())
    update = torch.zeros_like(full.detach())
    for k in range(len(model.lora_A)):
        along_outputs = kept_of([u[:, k] @ one for one in rows], threshold)
        along_inputs = kept_of([one @ v[k] for one in rows], threshold)
        update += s[k] ** 2 * torch.outer(u[:, k], along_outputs) + torch.outer(along_inputs, v[k])
    return update


def kept_of(rows: list[Tensor], threshold: float) -> Tensor:
    """The mean of the rows where enough signs agree."""
    kept = torch.zeros_like(rows[0])
    for j in range(len(kept)):
        values = [float(one[j]) for one in rows]
        votes = sum((value > 0) - (value < 0) for value in values)
        if abs(votes) >= threshold * len(rows):
            kept[j] = sum(values) / len(rows)
    return kept


@pytest.mark.parametrize("way", [way for way in WAYS if way != "pooled"])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_it_is_the_vote_on_the_full_matrix(threshold: float, way: str) -> None:
    inputs, targets = batch(n=1 if way in PER_EXAMPLE else 16)
    model = layer().with_factors(change_of_basis(3))
    with product_basis(model):
        backward(model, F.mse_loss, inputs, targets, AndMask(threshold), way)
    assert model.lora_A.grad is not None and model.lora_B.grad is not None
    a, b = model.lora_A.detach(), model.lora_B.detach()
    found = b @ model.lora_A.grad + model.lora_B.grad @ a
    expected = oracle(model, inputs, targets, threshold)
    torch.testing.assert_close(found, expected)
    assert threshold == 0 or float((found - oracle(model, inputs, targets, 0.0)).norm()) > 0.1 * found.norm()


def test_the_block_leaves_parameters_bit_for_bit_and_other_gradients_alone() -> None:
    class Biased(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.low, self.bias = layer(), nn.Parameter(torch.zeros(24, dtype=torch.float64))

        def forward(self, x: Tensor) -> Tensor:
            outputs: Tensor = self.low(x) + self.bias
            return outputs

    model, (inputs, targets) = Biased(), batch()
    before = {name: (p.data_ptr(), p.detach().clone()) for name, p in model.named_parameters()}
    outputs = model(inputs).detach()
    with product_basis(model):
        torch.testing.assert_close(model(inputs), outputs)
        rows = model.low.lora_A.detach()
        torch.testing.assert_close(rows @ rows.T, torch.eye(RANK, dtype=torch.float64))
        result = backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
    for name, p in model.named_parameters():
        assert p.data_ptr() == before[name][0] and torch.equal(p, before[name][1])
    bias = model.bias.grad
    backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
    torch.testing.assert_close(bias, model.bias.grad)
    assert 0 < result.kept_share["low.lora_A"] < 1


def test_micro_batches_are_one_call() -> None:
    model, (inputs, targets) = layer(), batch()
    with product_basis(model):
        backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
    together = [p.grad for p in model.parameters()]
    model.zero_grad()
    with product_basis(model), accumulate(AndMask(0.5)) as votes:
        for part in (slice(0, 5), slice(5, E)):
            votes.backward(model, F.mse_loss, inputs[part], targets[part])
    for p, expected in zip(model.parameters(), together, strict=True):
        torch.testing.assert_close(p.grad, expected)
