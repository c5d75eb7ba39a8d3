"""The readings of section 3.1: the choices for everything that it leaves open.

The 0.1 in the paper's N(0, 0.1) is a variance or a standard deviation. The mechanism is scaled or not. The
number of turns of a spiral is open. A batch size counts the examples of each environment, or of all together.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

CORRELATIONS = Path("spirals/readings_correlations.csv")
AND_MASK_RUNS = Path("spirals/readings/and_mask_runs.csv")
PLAIN_EACH_RUNS = Path("spirals/readings/plain_each_runs.csv")
"""The runs of plain training in which a step sees 4,096 examples, which is 32 environments times 128."""
PLAIN_RUNS = Path("spirals/readings_plain.csv")
"""The runs of plain training in which a step sees 128 examples of all environments together."""
PLAIN_STEPS = 30_000
"""The steps of plain training with 128 examples, as many as in 3,000/E passes over E environments."""
MANY_ENVIRONMENTS = (256, 512, 1024)
PUBLISHED_CORRELATION = 0.4
"""The correlation of the average gradient with the mechanism's (thesis, beside its figure 3.7: about 0.4)."""
PUBLISHED_BATCH = 1024
"""The batch size of figure 7 (paper, appendix, "Correlation plots")."""
N_ENVIRONMENTS = 16
"""The number of environments of figure 7."""


class Reading(NamedTuple):
    """One reading of the data. The names are those of the arguments of ``make_spirals``."""

    shortcut_variance: float
    standardize_mechanism: bool
    revolutions: float


READINGS = tuple(Reading(*values) for values in product((0.1, 0.01), (True, False), (1.5, 2.0, 3.0)))
CHOSEN = Reading(0.1, True, 2.0)
"""The default reading, because it reproduces most of the published results (table ``spirals_readings``)."""
BATCHES = {"each": PUBLISHED_BATCH, "all": PUBLISHED_BATCH // N_ENVIRONMENTS}
"""The examples of each environment, by what the batch size counts.

It counts the examples of ``each`` environment or those of ``all`` environments together."""
