from __future__ import annotations

import pytest
import torch
from torch import nn

from ilc.errors import UserError
from lab.models import MLP


@pytest.mark.parametrize(("layers", "units"), [(1, 4), (3, 256), (5, 16)])
def test_shape_and_size(layers: int, units: int) -> None:
    model = MLP(34, 2, units, layers)
    assert model(torch.zeros(7, 34)).shape == (7, 2)
    expected = 34 * units + units + (layers - 1) * (units * units + units) + 2 * units + 2
    assert sum(p.numel() for p in model.parameters()) == expected


def test_dropout_and_batch_norm_are_per_hidden_layer() -> None:
    kinds = [type(layer) for layer in MLP(3, 2, 4, 2, dropout=0.5, batch_norm=True).layers]
    hidden = [nn.Linear, nn.BatchNorm1d, nn.LeakyReLU, nn.Dropout]
    assert kinds == [*hidden, *hidden, nn.Linear]


@pytest.mark.parametrize(
    "options", [{"hidden_layers": 0}, {"hidden_units": 0}, {"dropout": 1.0}, {"dropout": -0.1}]
)
def test_sizes_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(UserError, match="positive sizes"):
        MLP(3, 2, **options)
