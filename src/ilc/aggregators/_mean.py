"""The arithmetic mean, which is plain training: a logical OR of the environments' signals."""

import torch

from ilc.aggregators._base import Aggregator, Combined
from ilc.aggregators._statistics import GradientStatistics


class Mean(Aggregator):
    """Average the environments' gradients (paper, equation 1). Keeps every component."""

    needs_votes = False
    needs_environments = False

    @property
    def is_mean(self) -> bool:
        """True."""
        return True

    @property
    def by_component(self) -> bool:
        """True."""
        return True

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the mean gradient; the kept share is 1."""
        update = statistics.total / statistics.n_environments
        return Combined(update, torch.ones((), dtype=update.dtype, device=update.device))


class MeanOfEnvironments(Mean):
    """The mean for objectives that depend on environments, such as risk + IRM penalty. It is never pooled."""

    needs_environments = True
