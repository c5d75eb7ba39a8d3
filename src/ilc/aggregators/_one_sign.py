"""Sums over the environments with one sign, computed from sums over all environments."""

from __future__ import annotations

from torch import Tensor

from ilc.aggregators._statistics import GradientStatistics


def sum_of_sign(statistics: GradientStatistics, sign: Tensor) -> Tensor:
    """The sum of the gradients with that sign, 1 or -1 per component: ``(total + sign * sum |g|) / 2``."""
    assert statistics.magnitude_sum is not None, "gathered because needs_magnitudes is set"
    return (statistics.total + sign * statistics.magnitude_sum) / 2


def mean_share(count: Tensor, n_environments: int) -> Tensor:
    """The mean over components of the share of environments that are counted; 1 without components."""
    return (count / n_environments).mean() if count.numel() else count.new_ones(())


def count_of_sign(statistics: GradientStatistics, sign: Tensor) -> Tensor:
    """The number of gradients with that sign: ``(E + sign * sum of signs) / 2``. A zero counts one half."""
    return (statistics.n_environments + sign * statistics.sign_sum) / 2
