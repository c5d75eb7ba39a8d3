"""Masking a few rows at a time is masking."""

from __future__ import annotations

import pytest
import torch

from ilc.aggregators import AndMask, GradientStatistics
from ilc.aggregators import _agreeing_mean as parts
from ilc.aggregators._base import agreement, masked


@pytest.mark.parametrize("at_once", [1, 24, 100])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kernel", [False, True])
def test_in_parts_as_in_one(
    at_once: int, threshold: float, rescale: bool, turned: bool, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gradients = torch.randn(5, 7, 3, 4, generator=torch.Generator().manual_seed(0))
    gradients[:, 2, 1, 3], gradients[3, 4, 0, 1] = 0, torch.nan
    statistics = GradientStatistics.zeros(gradients[0]).add_(gradients)
    if turned:  # As the sums of a convolution are.
        statistics.sign_sum = statistics.sign_sum.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    mean = statistics.total / 5
    expected = masked(mean, agreement(statistics, threshold), rescale)
    monkeypatch.setattr(parts, "_AT_ONCE", at_once)
    if not kernel:
        monkeypatch.setattr(parts, "usable", lambda values: False)
    found = AndMask(threshold, rescale).combine(statistics)
    torch.testing.assert_close(found.update, expected.update, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(found.kept_share, expected.kept_share)
