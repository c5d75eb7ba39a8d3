"""Figure 7's correlations at initialisation, under every reading of section 3.1.

A seed decides network and data, and the rows of a seed do not depend on other seeds. So each seed is a part
of its own, which takes seconds.
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
"""Threshold 0 gives the average gradient; 0.75 is the threshold of the mask in figure 7's scatter plot."""


def parts(seeds: int = 10) -> Parts:
    """Return the parts of ``spirals/readings_correlations.csv``: one per network.

    The table has a row per network, reading, batch and threshold.

    Args:
        seeds: the number of networks (paper: 10). Their seeds begin with 0.
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
