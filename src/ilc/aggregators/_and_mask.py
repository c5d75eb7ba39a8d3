"""The AND-mask: follow only the components on whose sign the environments agree."""

from ilc._truth_values import check_truth_value
from ilc.aggregators._agreeing_mean import agreeing_mean
from ilc.aggregators._base import Aggregator, Combined, check_threshold
from ilc.aggregators._mean import Mean
from ilc.aggregators._statistics import GradientStatistics


class AndMask(Aggregator):
    """Mean gradient where |sum of signs| >= threshold * E, zero elsewhere (paper, section 2.3).

    An environment in which a component is exactly 0 has no vote on it, but still counts in E. The result is
    the plain mean at threshold 0, and for a single environment whose gradient has no zeros.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.
        rescale: divide each tensor by its kept share (thesis, appendix B.2).

    Raises:
        UserError: the threshold is no number in [0, 1], or ``rescale`` is no truth value.
    """

    def __init__(self, agreement_threshold: float, rescale: bool = False) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self.rescale = check_truth_value("rescale", rescale)

    @property
    def is_mean(self) -> bool:
        """Whether the threshold is 0."""
        return self.agreement_threshold == 0

    @property
    def by_component(self) -> bool:
        """Whether nothing is rescaled."""
        return not self.rescale

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the masked mean and the share of kept components."""
        if self.is_mean:
            return Mean().combine(statistics)
        return agreeing_mean(statistics, self.agreement_threshold, self.rescale)
