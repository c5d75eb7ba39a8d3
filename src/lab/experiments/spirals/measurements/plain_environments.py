"""Plain training by the number of environments (figure 15).

A step has 128 examples of all environments together.
"""

from __future__ import annotations

from functools import partial

from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.environments import PLAIN, PLAIN_OF_AUTHORS, SIZES
from lab.experiments.spirals.plain_training import evaluations
from lab.experiments.spirals.readings import CHOSEN
from lab.experiments.spirals.settings import AUTHORS


def parts(seeds: int = 5, authors_setting: bool = False) -> Parts:
    """Return the parts of ``environments_plain.csv``: one per number of environments.

    Each part takes two minutes. The table lies in ``spirals/``, and that of the authors' setting in
    ``spirals/kaiming/``.

    Args:
        seeds: the number of seeds, which begin with 0 (paper: 5).
        authors_setting: take the authors' code for what the paper leaves open, and not our default.
    """
    return {f"{size}": partial(_train, size, seeds, authors_setting) for size in SIZES}


def _train(n_environments: int, seeds: int, authors_setting: bool) -> Tables:
    if not authors_setting:
        return {PLAIN.as_posix(): evaluations(CHOSEN, n_environments, seeds)}
    reading = CHOSEN._replace(revolutions=AUTHORS.revolutions)
    return {PLAIN_OF_AUTHORS.as_posix(): evaluations(reading, n_environments, seeds, "model=kaiming_mlp")}
