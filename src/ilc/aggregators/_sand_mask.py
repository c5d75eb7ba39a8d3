"""The SAND-mask: a smooth AND-mask that keeps more where the environments' gradients vary less."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ilc._numbers import check_number
from ilc.aggregators._base import Aggregator, Combined, check_threshold
from ilc.aggregators._statistics import GradientStatistics
from ilc.errors import UserError


class SandMask(Aggregator):
    """Mean gradient times ``max(0, tanh(k (|sum of signs| / E - tau) / variance))``, over the mask's mean.

    Source: Shahtalebi et al., arXiv 2106.02266, and DomainBed's code. The variance is that of the
    environments' gradients around their mean, divided by E - 1. Each tensor is divided by the mean of its
    mask. The variance is computed from sums of squares, with an error of about 1e-7 times the mean square.
    Equal gradients have a variance of zero and are kept completely. The default of k is DomainBed's. That of
    tau is the middle of the values that DomainBed draws, from 0 to 1. At DomainBed's default, 1, the mask
    would be zero everywhere.

    Args:
        agreement_threshold: tau in [0, 1]. The mask is zero at this agreement and below it.
        steepness: k, above 0.

    Raises:
        UserError: a value is no number, or out of range.
    """

    needs_squares = True
    follows_scale = False

    def __init__(self, agreement_threshold: float = 0.5, steepness: float = 10.0) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self.steepness = check_number("steepness", steepness)
        if not 0 < self.steepness < math.inf:
            raise UserError(f"steepness must be finite and above 0, got {steepness!r}")

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the masked mean and the mean of the mask."""
        n, total = statistics.n_environments, statistics.total
        mask = self._mask(statistics).to(total.dtype)
        share = mask.mean() if mask.numel() else torch.ones_like(total.sum())
        return Combined(total / n * mask / (1e-10 + share), share)

    def _mask(self, statistics: GradientStatistics) -> Tensor:
        assert statistics.square_sum is not None, "gathered because needs_squares is set"
        n, total = statistics.n_environments, statistics.total
        variance = (statistics.square_sum - total.square() / n).clamp_min(0) / max(1, n - 1)
        excess = statistics.sign_sum.abs() / n - self.agreement_threshold
        # At the threshold the mask is zero, also where the variance is zero, which would be 0 / 0.
        ratio = (excess / variance).where(excess != 0, excess)
        return torch.tanh(self.steepness * ratio).clamp_min(0)
