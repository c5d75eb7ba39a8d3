"""Agreement random: gradient surgery that puts noise where the environments disagree."""

from __future__ import annotations

from ilc.aggregators._base import Combined, agreement, masked
from ilc.aggregators._drawing import DrawingAggregator
from ilc.aggregators._statistics import GradientStatistics


class AgreementRandom(DrawingAggregator):
    """Sum of the gradients where all signs are equal, normal noise elsewhere.

    Source: Mansilla et al., arXiv 2108.01621. As in the authors' code, the size of the noise is the mean size
    of the kept components.
    Deviation: this mean is taken in each tensor, not over all parameters. A tensor without kept components
    gets no noise.
    """

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the masked sum with noise, and the share of components without noise."""
        keep = agreement(statistics, 1.0)
        kept = masked(statistics.total, keep, rescale=False)
        scale = kept.update.abs().sum() / keep.sum().clamp_min(1)
        noise = self.normal(kept.update) * scale * ~keep
        return Combined(kept.update + noise, kept.kept_share)
