"""What counts as another gradient when ways are compared: never signs of rounding."""

from __future__ import annotations

import pytest
import torch

from ilc.aggregators import GradientStatistics
from ilc.gradients._trials.tolerance import COMPARED_SUMS, Tolerance, differences


def statistics(rows: torch.Tensor) -> GradientStatistics:
    return GradientStatistics.zeros(rows[0], COMPARED_SUMS).add_(rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_gradient_of_nothing_but_rounding_has_no_sign(dtype: torch.dtype) -> None:
    """Such as that of a key's bias in attention, beside gradients of the usual size."""
    weight, bias = torch.randn(3, 4, dtype=dtype), torch.finfo(dtype).eps * torch.randn(3, 4, dtype=dtype)
    found = {"weight": statistics(weight), "bias": statistics(-bias)}
    tolerance = Tolerance.of([weight])
    assert not list(differences(found, {"weight": weight, "bias": bias}, tolerance))
    assert list(differences(found, {"weight": -weight, "bias": bias}, tolerance)) == ["weight"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_small_gradient_has_one(dtype: torch.dtype) -> None:
    weight, small = torch.randn(3, 4, dtype=dtype), 1e-3 * torch.randn(3, 4, dtype=dtype)
    found = {"weight": statistics(weight), "small": statistics(-small)}
    assert list(differences(found, {"weight": weight, "small": small}, Tolerance.of([weight]))) == ["small"]
