"""The perceptron of the authors' code: its one logit, and its first weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lab.models import MLP, KaimingMLP


def test_the_cross_entropy_is_the_binary_one() -> None:
    torch.manual_seed(0)
    model, x, y = KaimingMLP(4, 2, hidden_units=5).double(), torch.randn(6, 4).double(), torch.arange(6) % 2
    logits = model(x)
    assert not logits[:, 0].any()
    binary = nn.functional.binary_cross_entropy_with_logits(MLP.forward(model, x)[:, 0], y.double())
    torch.testing.assert_close(nn.functional.cross_entropy(logits, y), binary)
    assert sum(p.numel() for p in model.parameters()) == 5 * 4 + 5 + 2 * (5 * 5 + 5) + 5 + 1


def test_the_first_weights_are_kaimings() -> None:
    torch.manual_seed(0)
    for layer in KaimingMLP(34, 2).modules():
        if isinstance(layer, nn.Linear):
            assert (layer.bias == 0.01).all()
            if len(layer.weight) > 1:
                assert layer.weight.std().item() == pytest.approx((2 / layer.in_features) ** 0.5, rel=0.05)


@pytest.mark.parametrize("out_features", [1, 3])
def test_numbers_and_several_classes(out_features: int) -> None:
    outputs = KaimingMLP(4, out_features, hidden_units=5)(torch.randn(6, 4))
    assert outputs.shape == (6, out_features)
    assert bool(outputs[:, 0].any()) == (out_features == 1)
