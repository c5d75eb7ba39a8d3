"""The readings of what section 3.1 leaves open.

The paper's N(0, 0.1) has 0.1 as its variance or as its standard deviation, the mechanism is scaled or not, a
spiral turns some number of times, and a batch size counts the examples of each environment or of all.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

CORRELATIONS = Path("spirals/readings_correlations.csv")
AND_MASK_RUNS = Path("spirals/readings/and_mask_runs.csv")
PLAIN_EACH_RUNS = Path("spirals/readings/plain_each_runs.csv")
"""Plain training where a step sees 4,096 examples, as with 128 of each of 32 environments."""
PLAIN_RUNS = Path("spirals/readings_plain.csv")
"""Plain training where a step sees 128 examples of all environments."""
PLAIN_STEPS = 30_000
"""Of plain training in such steps, as many as 3,000/E passes over E environments have."""
MANY_ENVIRONMENTS = (256, 512, 1024)
PUBLISHED_CORRELATION = 0.4
"""Of the average gradient with the mechanism's (thesis, beside its figure 3.7: about 0.4)."""
PUBLISHED_BATCH = 1024
"""Of figure 7 (paper, appendix, "Correlation plots")."""
N_ENVIRONMENTS = 16
"""Of figure 7."""


class Reading(NamedTuple):
    """One reading of the data; the names are those of ``make_spirals``."""

    shortcut_variance: float
    standardize_mechanism: bool
    revolutions: float


READINGS = tuple(Reading(*values) for values in product((0.1, 0.01), (True, False), (1.5, 2.0, 3.0)))
CHOSEN = Reading(0.1, True, 2.0)
"""Which has most of the published results (table ``spirals_readings``), and so is the default."""
BATCHES = {"each": PUBLISHED_BATCH, "all": PUBLISHED_BATCH // N_ENVIRONMENTS}
"""Examples of each environment where the batch size counts those of each environment, or of all together."""
