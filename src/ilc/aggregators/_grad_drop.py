"""GradDrop: one sign per component, drawn in proportion to its magnitude."""

from __future__ import annotations

from ilc.aggregators._base import Combined
from ilc.aggregators._drawing import DrawingAggregator
from ilc.aggregators._one_sign import count_of_sign, mean_share, sum_of_sign
from ilc.aggregators._statistics import GradientStatistics


class GradDrop(DrawingAggregator):
    """Keep the positive gradients with probability ``P = (1 + sum g / sum |g|) / 2``, else the negative ones.

    Source: Chen et al., arXiv 2010.06808, algorithm 1, with its defaults: f is the identity, there is no
    leak.

    Deviation: the gradients are those of parameters. The source has gradients of activations, and takes the
    sign of their product with the activation. Also, the sum is divided by E. So environments of equal sign
    give the mean and not E times the mean.
    """

    needs_magnitudes = True

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the part of the mean with the drawn sign, and the share of environments with that sign."""
        assert statistics.magnitude_sum is not None, "gathered because needs_magnitudes is set"
        purity = (1 + statistics.total / statistics.magnitude_sum.clamp_min(1e-38)) / 2
        drawn = (purity > self.uniform(purity)).to(purity.dtype) * 2 - 1
        count = count_of_sign(statistics, drawn).to(drawn.dtype)
        update = sum_of_sign(statistics, drawn) / statistics.n_environments
        return Combined(update, mean_share(count, statistics.n_environments))
