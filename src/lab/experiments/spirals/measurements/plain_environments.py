"""Plain training by the number of environments (figure 15).

A step has 128 examples of all environments together.
"""

from __future__ import annotations

from functools import partial

from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.environments import PLAIN, SIZES
from lab.experiments.spirals.plain_training import evaluations
from lab.experiments.spirals.readings import CHOSEN


def parts(seeds: int = 5) -> Parts:
    """Return the parts of ``spirals/environments_plain.csv``: one per number of environments.

    Each part takes two minutes.

    Args:
        seeds: the number of seeds, which begin with 0 (paper: 5).
    """
    return {f"{size}": partial(_train, size, seeds) for size in SIZES}


def _train(n_environments: int, seeds: int) -> Tables:
    return {PLAIN.as_posix(): evaluations(CHOSEN, n_environments, seeds)}
