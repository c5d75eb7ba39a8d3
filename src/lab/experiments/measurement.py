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
"""Rows or whole files, by their place below ``results/`` (``spirals/correlations.csv``)."""

Parts = dict[str, Callable[[], Tables]]
"""What computes each part, by a name that a file can have; callables that another process can be given."""

OVERRIDES = ("threads=1", "device=cpu", "logger=none")


def trained(overrides: Sequence[str]) -> LoadedRun:
    """The run of these overrides, made now in a folder that is then forgotten.

    Raises:
        HydraException, UserError: an override that does not fit, or training that failed.
    """
    command = [*overrides, *OVERRIDES]
    with TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        run(compose_experiment(command), place, command_of(command))
        return load_run(place, allow=["lab"])
