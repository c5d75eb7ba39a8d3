"""The XOR-mask, the complement of the AND-mask."""

from ilc.aggregators._base import Aggregator, Combined, agreement, check_threshold, masked
from ilc.aggregators._statistics import GradientStatistics


class XorMask(Aggregator):
    """Mean gradient where the environments disagree: exactly the components that the AND-mask drops.

    At threshold 0 the AND-mask drops no component, so the XOR-mask is zero. It serves to examine the
    inconsistent part of the learning signal (thesis, figure 3.7). It is hardly useful for training.

    Args:
        agreement_threshold: tau in [0, 1], that of the AND-mask.

    Raises:
        UserError: the threshold is no number in [0, 1].
    """

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)

    @property
    def by_component(self) -> bool:
        """True."""
        return True

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the mean of the disagreeing components and their share."""
        mean = statistics.total / statistics.n_environments
        return masked(mean, ~agreement(statistics, self.agreement_threshold), rescale=False)
