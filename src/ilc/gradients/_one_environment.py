"""A warning about an aggregator that has only one environment."""

import warnings
from collections.abc import Mapping

from ilc.aggregators import Aggregator, GradientStatistics
from ilc.gradients._users_line import stacklevel_of_the_user


def warn_of_one_environment(aggregator: Aggregator, statistics: Mapping[str, GradientStatistics]) -> None:
    """Warn if an aggregator that compares environments has only one.

    Python shows the warning once for each line of the user's code.

    Args:
        aggregator: the aggregator of the step.
        statistics: those of each parameter, over the environments of all processes.
    """
    if aggregator.is_mean or not aggregator.needs_environments:
        return
    if any(found.n_environments > 1 for found in statistics.values()):
        return
    warnings.warn(
        f"{type(aggregator).__name__} received one environment, so it has nothing to compare: give at least "
        "two, for example as inputs [E, N, ...] with E >= 2",
        stacklevel=stacklevel_of_the_user(),
    )
