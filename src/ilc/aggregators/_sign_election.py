"""Sign election, from TIES-merging: the mean of the environments that have the sign of the sum."""

from __future__ import annotations

from ilc.aggregators._base import Aggregator, Combined
from ilc.aggregators._one_sign import count_of_sign, mean_share, sum_of_sign
from ilc.aggregators._statistics import GradientStatistics


class SignElection(Aggregator):
    """Elect the sign that has more magnitude, and average the environments that have it.

    Source: Yadav et al., arXiv 2306.01708, "elect" and "disjoint merge". They merge differences between
    fine-tuned models; here gradients are merged.
    Deviation: there is no trimming before (TIES keeps the largest 20 % of each model), because sums over
    environments cannot trim; a gradient of exactly 0 counts as half an environment with the elected sign.
    """

    needs_magnitudes = True

    @property
    def by_component(self) -> bool:
        """True."""
        return True

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the disjoint mean, and the share of environments with the elected sign."""
        elected = statistics.total.sign()
        count = count_of_sign(statistics, elected).to(elected.dtype)
        update = sum_of_sign(statistics, elected) / count.clamp_min(1)
        return Combined(update, mean_share(count, statistics.n_environments))
