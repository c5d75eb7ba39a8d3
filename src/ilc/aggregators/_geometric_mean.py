"""The geometric mean, the logical AND that the AND-mask approximates."""

from ilc._truth_values import check_truth_value
from ilc.aggregators._base import Aggregator, Combined, agreement, check_threshold, masked
from ilc.aggregators._statistics import GradientStatistics


class GeometricMean(Aggregator):
    """Elementwise geometric mean of the magnitudes, in the log domain, with the majority's sign.

    A component is zero if the agreement of its signs is below the threshold. If it is kept, the magnitudes of
    a minority with the other sign count too. A component that is exactly 0 in any environment is 0, as in a
    product (thesis, section 3.2, "From Hessians to gradients").

    Args:
        agreement_threshold: tau in [0, 1]; the comparison is inclusive.
        rescale: divide each tensor by its kept share, as for the AND-mask.

    Raises:
        UserError: the threshold is outside [0, 1], or ``rescale`` is no truth value.
    """

    needs_logs = True

    def __init__(self, agreement_threshold: float, rescale: bool = False) -> None:
        self.agreement_threshold = check_threshold(agreement_threshold)
        self.rescale = check_truth_value("rescale", rescale)

    @property
    def by_component(self) -> bool:
        """Whether nothing is rescaled."""
        return not self.rescale

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the signed geometric mean and the share of kept components."""
        assert statistics.log_sum is not None, "gathered because needs_logs is set"
        magnitude = (statistics.log_sum / statistics.n_environments).exp()
        signed = magnitude * statistics.sign_sum.sign()
        return masked(signed, agreement(statistics, self.agreement_threshold), self.rescale)
