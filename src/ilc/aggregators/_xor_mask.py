"""The XOR-mask: the AND-mask's complement."""

from ilc.aggregators._base import Aggregator, Combined, agreement, check_threshold, masked
from ilc.aggregators._statistics import GradientStatistics


class XorMask(Aggregator):
    """Mean gradient where the environments disagree: exactly what the AND-mask drops.

    At threshold 0 the AND-mask drops nothing, so the XOR-mask is zero. Used to look at the
    inconsistent part of the learning signal (thesis, figure 3.7), hardly to train.

    Raises:
        UserError: a threshold outside [0, 1].
    """

    def __init__(self, agreement_threshold: float) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the mean of the disagreeing components and their share."""
        mean = statistics.total / statistics.n_environments
        return masked(mean, ~agreement(statistics, self.agreement_threshold), rescale=False)
