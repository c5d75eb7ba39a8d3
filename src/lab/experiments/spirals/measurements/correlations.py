"""Correlations of masked gradients with each signal's gradient, in untrained networks (figure 7).

The signals are the mechanism and the shortcuts.

A seed decides data and network, and the rows of a seed do not depend on other seeds. So each seed is a part
of its own, which takes seconds.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import Tensor

from ilc.aggregators import AndMask, XorMask
from ilc.errors import UserError
from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.correlations import SCATTER, TABLE
from lab.experiments.spirals.gradient_correlations import (
    SignalGradients,
    compare,
    masked_average,
    network_and_spirals,
    signal_gradients,
)
from lab.experiments.spirals.settings import AUTHORS, CORRELATIONS_OF_AUTHORS, SCATTER_OF_AUTHORS, TWO
from lab.machine.seeding import generator_for

N_ENVIRONMENTS = 16
# The signs of 16 environments add up to an even number, so these thresholds give all different masks.
# The XOR-mask keeps nothing at threshold 0.
THRESHOLDS = [votes / N_ENVIRONMENTS for votes in range(0, N_ENVIRONMENTS + 1, 2)]
SCATTER_THRESHOLDS = (0.0, 0.75)
SCATTER_PER_SEED = 200
Row = dict[str, float | int | str]


def parts(seeds: int = 10, authors_setting: bool = False) -> Parts:
    """Return a part per network. Each part makes two tables.

    ``correlations.csv`` has a row per part of the network, seed, mask and threshold.
    ``correlations_scatter.csv`` has a sample of single components. They lie in ``spirals/``, and those of the
    authors' setting in ``spirals/kaiming/``.

    Args:
        seeds: the number of networks. Their seeds begin with 0.
        authors_setting: take the authors' code for what the paper leaves open, and not our default.

    Raises:
        UserError: ``seeds`` is below 1.
    """
    if seeds < 1:
        raise UserError(f"seeds must be at least 1, got {seeds}: the default is 10, as in the paper")
    return {f"seed{seed}": partial(_measure, seed, authors_setting) for seed in range(seeds)}


def _measure(seed: int, authors_setting: bool) -> Tables:
    correlations: list[Row] = []
    scatter: list[Row] = []
    setting = AUTHORS if authors_setting else TWO
    network, spirals = network_and_spirals(
        seed, N_ENVIRONMENTS, revolutions=setting.revolutions, authors_weights=setting.authors_weights
    )
    gradients = signal_gradients(network, spirals, seed)
    # Only in the first layer does a weight belong to either the mechanism's or the shortcuts' inputs.
    first_layer = next(network.parameters()).numel()
    for mask, threshold in _masks():
        aggregator = AndMask(threshold) if mask == "and_mask" else XorMask(threshold)
        average = masked_average(gradients, aggregator)
        for parameters, part in (("all", slice(None)), ("first layer weights", slice(first_layer))):
            key: Row = {"parameters": parameters, "seed": seed, "mask": mask}
            measured = compared(average[part], gradients.mechanism[part], gradients.shortcut[part])
            source: Row = {"data_source": spirals.source}
            correlations.append(key | {"agreement_threshold": threshold} | measured | source)
        if mask == "and_mask" and threshold in SCATTER_THRESHOLDS:
            scatter += _sample(seed, threshold, average, gradients)
    table, sample = (CORRELATIONS_OF_AUTHORS, SCATTER_OF_AUTHORS) if authors_setting else (TABLE, SCATTER)
    return {table.as_posix(): pd.DataFrame(correlations), sample.as_posix(): pd.DataFrame(scatter)}


def _masks() -> list[tuple[str, float]]:
    """Return masks and thresholds, in order.

    The order begins with the XOR-mask that keeps only ties, passes masks that keep everything, and ends with
    the AND-mask that keeps only unanimous components.
    """
    return [("xor_mask", t) for t in THRESHOLDS if t > 0] + [("and_mask", t) for t in THRESHOLDS]


def compared(average: Tensor, mechanism: Tensor, shortcut: Tensor) -> Row:
    """Compare an average gradient ``[P]`` with the gradient of each signal.

    Returns:
        The kept components, and the correlation and regression line with each signal's gradient.
    """
    row: Row = {}
    for name, signal in (("mechanism", mechanism), ("shortcut", shortcut)):
        n_kept, correlation, slope, intercept = compare(average, signal)
        row |= {"kept_components": n_kept, "kept_share": n_kept / len(average)}
        row |= {f"{name}_correlation": correlation, f"{name}_slope": slope, f"{name}_intercept": intercept}
    return row


def _sample(seed: int, threshold: float, average: Tensor, gradients: SignalGradients) -> list[Row]:
    """Return a random sample of the kept components, at most ``SCATTER_PER_SEED`` of every network."""
    places = average.nonzero().flatten()
    places = places[torch.randperm(len(places), generator=generator_for(seed, "scatter"))[:SCATTER_PER_SEED]]
    columns = [values[places].tolist() for values in (average, gradients.mechanism, gradients.shortcut)]
    return [
        {"seed": seed, "agreement_threshold": threshold, "average": a, "mechanism": m, "shortcut": s}
        for a, m, s in zip(*columns, strict=True)
    ]
