"""What is left of figure 7's signals where all environments agree, in many untrained networks.

At threshold 1 a network of figure 7 keeps about ten of its 141,058 components. Ten networks are too few for a
correlation there, so this measurement takes many, and it stores the kept components, which can be pooled.
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
from lab.experiments.spirals.settings import AUTHORS, THREE, TWO, Setting
from lab.experiments.spirals.unanimous import tables_of

THRESHOLDS = (0.0, 0.875, 1.0)
"""No mask, the largest threshold of figure 7 with enough components in each network, and unanimity."""


def parts(seeds: int = 200, authors_setting: bool = False) -> Parts:
    """Return a part per setting and network. Each part makes two tables.

    ``unanimous.csv`` has a row per network and threshold. ``unanimous_components.csv`` has the components
    that are kept at threshold 1. They lie in ``spirals/``, and those of the authors' setting in
    ``spirals/kaiming/``.

    Args:
        seeds: the number of networks of a setting. Their seeds begin with 0.
        authors_setting: take the authors' code for what the paper leaves open, and not PyTorch's weights and
            two or three revolutions.
    """
    return {
        f"turns{setting.revolutions:g}-seed{seed}": partial(_measure, setting, seed)
        for setting in ((AUTHORS,) if authors_setting else (TWO, THREE))
        for seed in range(seeds)
    }


def _measure(setting: Setting, seed: int) -> Tables:
    turns = setting.revolutions
    network, spirals = network_and_spirals(seed, revolutions=turns, authors_weights=setting.authors_weights)
    gradients = signal_gradients(network, spirals, seed)
    key: Row = {"revolutions": turns, "seed": seed}
    rows: list[Row] = []
    for threshold in THRESHOLDS:
        average = masked_average(gradients, AndMask(threshold))
        measured = compared(average, gradients.mechanism, gradients.shortcut)
        chosen = {
            name: value for name, value in measured.items() if "slope" not in name and "intercept" not in name
        }
        rows.append(key | {"agreement_threshold": threshold} | chosen | {"data_source": spirals.source})
    kept = average.nonzero().flatten()
    columns = {"average": average, "mechanism": gradients.mechanism, "shortcut": gradients.shortcut}
    components = pd.DataFrame({name: values[kept].tolist() for name, values in columns.items()})
    networks, of_networks = tables_of(setting)
    return {
        networks.as_posix(): pd.DataFrame(rows),
        of_networks.as_posix(): components.assign(**key)[[*key, *columns]],
    }
