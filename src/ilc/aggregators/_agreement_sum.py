"""Agreement sum: gradient surgery that keeps what all environments agree on."""

from __future__ import annotations

from ilc.aggregators._base import Aggregator, Combined, agreement, masked
from ilc.aggregators._statistics import GradientStatistics


class AgreementSum(Aggregator):
    """Sum of the gradients where all signs are equal, zero elsewhere (Mansilla et al., arXiv 2108.01621).

    This is E times the AND-mask at threshold 1. Under Adam both train alike.
    """

    @property
    def by_component(self) -> bool:
        """True."""
        return True

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the masked sum and the share of kept components."""
        return masked(statistics.total, agreement(statistics, 1.0), rescale=False)
