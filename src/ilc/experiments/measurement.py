"""What a measurement is: numbers under ``results/`` that are no runs, made in parts.

A measurement is a module ``ilc/experiments/*/measurements/NAME.py`` with ``parts(**options) -> Parts``. A
study (``conf/study/``) names it, computes the parts that are missing, several at a time, each with one
CPU thread, and joins their tables in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

Tables = dict[str, pd.DataFrame | bytes]
"""Rows or whole files, by their place below ``results/`` (``spirals/correlations.csv``)."""

Parts = dict[str, Callable[[], Tables]]
"""What computes each part, by a name that a file can have; callables that another process can be given."""
