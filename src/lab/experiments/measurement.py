"""Measurements: numbers under ``results/`` that do not come from recorded runs. They are made in parts.

A measurement is a module ``lab/experiments/*/measurements/NAME.py`` with ``parts(**options) -> Parts``. A
study (``conf/study/EXPERIMENT/``) names the module. It computes the parts that are missing, several at a
time, each with one CPU thread, and joins their tables in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lab.configuration.compose import command_of, compose_experiment
from lab.runs import LoadedRun, load_run, run

Tables = dict[str, pd.DataFrame | bytes]
"""Tables or whole files, by their path below ``results/``, for example ``spirals/correlations.csv``."""

Parts = dict[str, Callable[[], Tables]]
"""The function that computes each part, by the name of the part.

The name must be possible as a file name. It must be possible to give the function to another process."""

OVERRIDES = ("threads=1", "device=cpu", "logger=none")


def trained(overrides: Sequence[str]) -> LoadedRun:
    """Train a run with these overrides in a temporary folder and return it.

    Raises:
        HydraException, UserError: an override does not fit, or training failed.
    """
    command = [*overrides, *OVERRIDES]
    with TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        run(compose_experiment(command), place, command_of(command))
        return load_run(place, allow=["lab"])
