"""Sums of squares and of magnitudes are the same in every way of obtaining gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import GeometricMean, GradDrop, GradientStatistics, SandMask
from ilc.gradients import environment_gradients

E, D = 7, 5


def batch(n: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(E, n, D, dtype=torch.float64), torch.randint(3, (E, n))


@pytest.mark.parametrize(
    ("gradients", "n"),
    [
        ("vectorized", 4),
        ("sequential", 4),
        ("per_example", 1),
        ("per_example_share", 1),
        ("per_example_loss", 1),
    ],
)
@pytest.mark.parametrize("batch_norm", [False, True])
def test_against_stacked_gradients(gradients: str, n: int, batch_norm: bool) -> None:
    torch.manual_seed(0)
    norm = [nn.BatchNorm1d(6)] if batch_norm and gradients in ("vectorized", "sequential") else []
    model = nn.Sequential(nn.Linear(D, 6), *norm, nn.Tanh(), nn.Linear(6, 3)).double()
    inputs, targets = batch(n)
    parameters = list(model.parameters())
    rows = [
        torch.autograd.grad(F.cross_entropy(model(x), y), parameters)
        for x, y in zip(inputs, targets, strict=True)
    ]
    for aggregator in (SandMask(), GradDrop(), GeometricMean(0.2)):
        found = environment_gradients(model, F.cross_entropy, inputs, targets, aggregator, gradients)
        for i, (p, statistics) in enumerate(zip(parameters, found.statistics.values(), strict=True)):
            expected = GradientStatistics.zeros(p, aggregator.sums_on_request)
            expected.add_(torch.stack([row[i] for row in rows]))
            assert statistics.requested.keys() == expected.requested.keys() == {*aggregator.sums_on_request}
            for name, values in statistics.requested.items():
                if batch_norm and norm and name == "log_sum":
                    continue  # Before BatchNorm a bias has a gradient of rounding alone.
                torch.testing.assert_close(values, expected.requested[name], rtol=1e-6, atol=1e-10)
