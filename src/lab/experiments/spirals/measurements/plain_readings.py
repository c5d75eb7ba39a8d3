"""Plain training with many environments under every reading of the data.

A step has 128 examples of all environments together.
"""

from __future__ import annotations

from functools import partial

from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.plain_training import evaluations
from lab.experiments.spirals.readings import MANY_ENVIRONMENTS, PLAIN_RUNS, READINGS, Reading


def parts(seeds: int = 3) -> Parts:
    """Return the parts of ``spirals/readings_plain.csv``: one per reading and number of environments.

    Each part takes two minutes.

    Args:
        seeds: the number of seeds, which begin with 0.
    """
    return {
        "-".join(map(str, (*reading, n_environments))): partial(_train, reading, n_environments, seeds)
        for reading in READINGS
        for n_environments in MANY_ENVIRONMENTS
    }


def _train(reading: Reading, n_environments: int, seeds: int) -> Tables:
    return {PLAIN_RUNS.as_posix(): evaluations(reading, n_environments, seeds)}
