"""The AND-mask: follow only the directions that the environments agree on."""

from ilc.aggregators._agreeing_mean import agreeing_mean
from ilc.aggregators._base import Aggregator, Combined, check_threshold
from ilc.aggregators._mean import Mean
from ilc.aggregators._statistics import GradientStatistics


class AndMask(Aggregator):
    """Mean gradient where |sum of signs| >= threshold * E, zero elsewhere (paper, section 2.3).

    A component that is exactly 0 in some environments has no vote there but still counts in E.
    Threshold 0 and a single environment with non-zero gradients both give the plain mean.

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.
        rescale: divide each tensor by its kept share (thesis, appendix B.2).

    Raises:
        UserError: a threshold outside [0, 1].
    """

    def __init__(self, agreement_threshold: float, rescale: bool = False) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self.rescale = rescale

    @property
    def is_mean(self) -> bool:
        """At threshold 0."""
        return self.agreement_threshold == 0

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the masked mean and the share of kept components."""
        if self.is_mean:
            return Mean().combine(statistics)
        return agreeing_mean(statistics, self.agreement_threshold, self.rescale)
