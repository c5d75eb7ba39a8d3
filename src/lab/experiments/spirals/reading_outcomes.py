"""The outcomes under each reading, and which of the published results each outcome reproduces."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.spirals.methods import PERFECT
from lab.experiments.spirals.readings import (
    AND_MASK_RUNS,
    CORRELATIONS,
    MANY_ENVIRONMENTS,
    PLAIN_EACH_RUNS,
    PLAIN_RUNS,
    PUBLISHED_CORRELATION,
    READINGS,
    Reading,
)
from lab.figures.mean_interval import mean_interval

PUBLISHED_ENVIRONMENTS = 1024
"""Plain training first finds the mechanism with this many environments, best of five runs (figure 15)."""
COUNTED = {"each": ("each", "each"), "all": ("all", "all"), "own": ("each", "all")}
"""The meanings of a batch size: the examples that it counts for the AND-mask, and for plain training.

It counts the examples of ``each`` environment or those of ``all`` environments together. Plain training need
not know the environments. So with ``own`` each of the two methods has the count that suits it."""
_EXAMPLES = {"each": 128, "all": 4}
"""The examples of each of 32 environments in a step of the AND-mask, by what its batch size of 128 counts."""


class Outcome(NamedTuple):
    """The outcome under one reading.

    Attributes:
        reading: the reading of the data.
        counted: which examples the batch size counts, a key of ``COUNTED``.
        correlations: the correlation of the average gradient with the mechanism's gradient, one per untrained
            network.
        as_published: test accuracies of the thesis's best configuration, one per seed.
        rescaled: test accuracies of the same configuration with rescaled updates.
        plain: test accuracies of plain training after its last step, one per seed, by the number of
            environments.
    """

    reading: Reading
    counted: str
    correlations: pd.Series
    as_published: pd.Series
    rescaled: pd.Series
    plain: dict[int, pd.Series]

    @property
    def correlates(self) -> bool:
        """Whether the interval over networks contains the thesis's correlation."""
        low, high = mean_interval(self.correlations)
        return low <= PUBLISHED_CORRELATION <= high

    @property
    def is_perfect(self) -> bool:
        """Whether the median of the thesis's configuration is perfect, with or without rescaled updates."""
        return bool(max(self.as_published.median(), self.rescaled.median()) >= PERFECT)

    @property
    def first(self) -> int | None:
        """The smallest number of environments at which the best plain run is perfect."""
        return next((size for size, test in self.plain.items() if test.max() >= PERFECT), None)

    @property
    def reproduced(self) -> int:
        """How many of the three published results are reproduced."""
        return self.correlates + self.is_perfect + (self.first == PUBLISHED_ENVIRONMENTS)


def read_outcomes(results: Path) -> list[Outcome]:
    """Return an outcome for each reading of the data and of the batch size, in the order of the readings."""
    correlations, masked, each, of_all = (
        pd.read_csv(results / path) for path in (CORRELATIONS, AND_MASK_RUNS, PLAIN_EACH_RUNS, PLAIN_RUNS)
    )
    correlations = correlations[correlations.agreement_threshold == 0]
    masked, each = (
        rows.rename(columns=lambda name: name.removeprefix("dataset.")) for rows in (masked, each)
    )
    plain = {"each": each, "all": of_all[of_all.epoch == of_all.epoch.max()]}
    outcomes = []
    for reading in READINGS:
        for counted, (by_mask, by_plain) in COUNTED.items():
            untrained, runs = _under(reading, correlations), _under(reading, masked)
            runs = runs[runs.batch_size == _EXAMPLES[by_mask]]
            as_published, rescaled = (
                runs[runs["aggregator.rescale"] == flag]["test/accuracy"] for flag in (False, True)
            )
            many = _under(reading, plain[by_plain])
            outcomes.append(
                Outcome(
                    reading,
                    counted,
                    untrained[untrained.batch_of == by_mask].mechanism_correlation,
                    as_published,
                    rescaled,
                    {size: many[many.n_environments == size]["test/accuracy"] for size in MANY_ENVIRONMENTS},
                )
            )
    return outcomes


def _under(reading: Reading, rows: pd.DataFrame) -> pd.DataFrame:
    for key, value in reading._asdict().items():
        rows = rows[rows[key] == value]
    return rows
