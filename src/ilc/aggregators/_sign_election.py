"""Sign election, from TIES-merging: the mean of those environments that have the sign of the sum."""

from __future__ import annotations

from ilc.aggregators._base import Aggregator, Combined
from ilc.aggregators._one_sign import count_of_sign, sum_of_sign
from ilc.aggregators._statistics import GradientStatistics


class SignElection(Aggregator):
    """Elect the sign that has more magnitude, and average the environments that have it.

    Source: Yadav et al., arXiv 2306.01708, "elect" and "disjoint merge", for gradients in place of
    differences between fine-tuned models.
    Deviation: nothing is trimmed before (TIES keeps each one's largest 20 %), which no sum over environments
    could do; a gradient of exactly 0 counts as half an environment of the elected sign.
    """

    needs_magnitudes = True

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the disjoint mean, and the share of environments that it is of."""
        elected = statistics.total.sign()
        count = count_of_sign(statistics, elected).to(elected.dtype)
        update = sum_of_sign(statistics, elected) / count.clamp_min(1)
        return Combined(update, (count / statistics.n_environments).mean())
