"""Figure 7's correlations at initialisation under every reading of what section 3.1 leaves open.

A seed decides network and data, and its rows do not depend on the others: a part per seed, seconds each.
"""

from __future__ import annotations

from functools import partial

import pandas as pd

from ilc.aggregators import AndMask
from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.gradient_correlations import (
    masked_average,
    network_and_spirals,
    signal_gradients,
)
from lab.experiments.spirals.measurements.correlations import Row, compared
from lab.experiments.spirals.readings import BATCHES, CORRELATIONS, N_ENVIRONMENTS, READINGS

THRESHOLDS = (0.0, 0.75)
"""The average gradient, and the mask of figure 7's scatter."""


def parts(seeds: int = 10) -> Parts:
    """``spirals/readings_correlations.csv``: a part per network, a row per reading, batch and threshold.

    Args:
        seeds: how many networks, from 0 (paper: 10).
    """
    return {f"seed{seed}": partial(_measure, seed) for seed in range(seeds)}


def _measure(seed: int) -> Tables:
    rows: list[Row] = []
    for reading in READINGS:
        for batch, examples in BATCHES.items():
            network, spirals = network_and_spirals(seed, N_ENVIRONMENTS, examples, **reading._asdict())
            gradients = signal_gradients(network, spirals, seed)
            for threshold in THRESHOLDS:
                average = masked_average(gradients, AndMask(threshold))
                row: Row = {"seed": seed, **reading._asdict(), "batch_of": batch}
                row |= {"agreement_threshold": threshold}
                row |= compared(average, gradients.mechanism, gradients.shortcut)
                rows.append(row | {"data_source": spirals.source})
    return {CORRELATIONS.as_posix(): pd.DataFrame(rows)}
