"""The ReLU perceptron: its function, its initial weights, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ilc.errors import UserError
from lab.models import ReluMLP


def test_outputs_are_those_of_the_formula() -> None:
    torch.manual_seed(0)
    model, x = ReluMLP(4, 3, hidden_units=5, hidden_layers=2).double(), torch.randn(6, 4, dtype=torch.float64)
    h = x.numpy()
    weights = [p.detach().numpy() for p in model.parameters()]
    for w, b in zip(weights[0:4:2], weights[1:4:2], strict=True):
        h = np.maximum(h @ w.T + b, 0)
    np.testing.assert_allclose(model(x).detach().numpy(), h @ weights[4].T + weights[5], atol=1e-12)


def test_hidden_layers_start_as_xaviers_and_the_last_one_as_pytorchs() -> None:
    torch.manual_seed(0)
    first, first_bias, second, _, last, last_bias = (p.detach() for p in ReluMLP(392, 2).parameters())
    for weights, fan in ((first, 392 + 390), (second, 780)):
        bound = 2**0.5 * (6 / fan) ** 0.5
        assert 0.99 * bound < float(weights.abs().max()) <= bound
    assert not first_bias.any()
    assert 0.98 * 390**-0.5 < float(last.abs().max()) <= 390**-0.5
    assert last_bias.all()


@pytest.mark.parametrize("sizes", [(0, 2, 3, 1), (2, 2, 0, 1), (2, 2, 3, 0)])
def test_sizes_below_one_are_refused(sizes: tuple[int, int, int, int]) -> None:
    with pytest.raises(UserError, match="positive sizes"):
        ReluMLP(*sizes)
