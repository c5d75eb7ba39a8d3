"""How much of the mechanism and of the shortcuts an average gradient holds, masked and not (figure 7).

Three gradients of one network at one point are taken, each averaged over the environments. The first is that
of the spirals, the second that of only their mechanism, and the third that of only their shortcuts
(``lab.experiments.spirals.signals``). The first is masked by the environments' agreement on the spirals
themselves; the other two are not masked. Then the components of the gradients are compared, over all weights
and biases together, and only where the mask keeps something (paper, appendix, "Correlation plots"; thesis,
section 3.3.1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import Aggregator, GradientStatistics, Mean
from ilc.gradients import vectorized
from lab.data import Environments, make_spirals
from lab.experiments.spirals.signals import mechanism_only, shortcut_only
from lab.machine.seeding import generator_for, seed_for
from lab.models import MLP, KaimingMLP


class SignalGradients(NamedTuple):
    """Statistics of the spirals' gradients by parameter, and the mean gradient ``[P]`` of each signal."""

    spirals: dict[str, GradientStatistics]
    mechanism: Tensor
    shortcut: Tensor


class Comparison(NamedTuple):
    """The number of kept components, their Pearson correlation and their regression line.

    The line is ``signal = slope * average + intercept``.
    """

    kept_components: int
    correlation: float
    slope: float
    intercept: float


def network_and_spirals(
    seed: int,
    n_environments: int = 16,
    batch_size: int = 1024,
    hidden_units: int = 256,
    revolutions: float = 2.0,
    shortcut_variance: float = 0.1,
    standardize_mechanism: bool = True,
    authors_weights: bool = False,
) -> tuple[nn.Module, Environments]:
    """Return a new perceptron and one batch of spirals. Both have the paper's size by default.

    The perceptron has the first weights of the authors' code, or PyTorch's.

    Deviation: we read the paper's "batches of size 1024" as examples per environment, which is also the
    meaning of ``dataset.batch_size``.
    """
    data_seed = seed_for(seed, "data")
    spirals = make_spirals(
        data_seed,
        n_environments,
        batch_size,
        n_test=1,
        revolutions=revolutions,
        shortcut_variance=shortcut_variance,
        standardize_mechanism=standardize_mechanism,
    )
    torch.manual_seed(seed_for(seed, "model and dropout"))
    perceptron = KaimingMLP if authors_weights else MLP
    return perceptron(spirals.inputs.shape[-1], spirals.n_outputs, hidden_units, hidden_layers=3), spirals


def signal_gradients(model: nn.Module, spirals: Environments, seed: int) -> SignalGradients:
    """Differentiate the cross-entropy on the three datasets. ``seed`` decides the two shuffles."""
    mechanism = mechanism_only(spirals, generator_for(seed, "shuffled shortcuts"))
    shortcut = shortcut_only(spirals, generator_for(seed, "shuffled mechanism"))
    statistics = [
        vectorized(model, F.cross_entropy, data.inputs, data.targets).statistics
        for data in (spirals, mechanism, shortcut)
    ]
    return SignalGradients(statistics[0], _combined(Mean(), statistics[1]), _combined(Mean(), statistics[2]))


def masked_average(gradients: SignalGradients, aggregator: Aggregator) -> Tensor:
    """Return the aggregator's update ``[P]`` on the spirals, which is zero where it keeps nothing."""
    return _combined(aggregator, gradients.spirals)


def compare(average: Tensor, signal: Tensor) -> Comparison:
    """Compare the components of two gradients where the average is not zero, as the paper does.

    The correlation and the line are NaN if fewer than two components are kept.
    """
    chosen = average != 0
    # float64 is needed, because 140,000 squares of very different sizes are added.
    x, y = average[chosen].double(), signal[chosen].double()
    if len(x) < 2:
        return Comparison(len(x), math.nan, math.nan, math.nan)
    x_centred, y_centred = x - x.mean(), y - y.mean()
    slope = (x_centred @ y_centred) / (x_centred @ x_centred)
    correlation = (x_centred @ y_centred) / (x_centred.norm() * y_centred.norm())
    return Comparison(len(x), float(correlation), float(slope), float(y.mean() - slope * x.mean()))


def _combined(aggregator: Aggregator, statistics: dict[str, GradientStatistics]) -> Tensor:
    """Return the aggregator's update of all parameters, flattened to ``[P]``."""
    return torch.cat([aggregator.combine(s).update.flatten() for s in statistics.values()])
