"""The values that an override of a sweep names (``seed=0,1``, ``seed=range(0,50)``), bounded in number."""

from __future__ import annotations

import math

from hydra.core.override_parser.types import Override, RangeSweep

from ilc.errors import UserError

MOST = 10_000
"""Runs of one command: their configs are composed first, which takes minutes for so many."""


def swept_values(text: str, entry: Override) -> list[str]:
    """The values, as text.

    Args:
        text: the override as it was given, for messages.
        entry: what Hydra read.

    Raises:
        UserError: it names none, or more than a command may.
    """
    value = entry.value()
    if isinstance(value, RangeSweep):
        _check_range(text, value)
    values = list(entry.sweep_string_iterator())
    if not values:
        raise UserError(f"{text} names no value: a range rises from its first number, or has a negative step")
    return values


def check_number_of_runs(n: int | float) -> None:
    """Whether a command may name that many runs.

    Raises:
        UserError: it may not.
    """
    if not n <= MOST:
        raise UserError(
            f"these overrides name {n:,.0f} runs, and a command makes at most {MOST:,}: name fewer values, "
            "or give several commands"
        )


def _check_range(text: str, value: RangeSweep) -> None:
    start, stop, step = value.start, value.stop, value.step
    if start is None or stop is None or step == 0 or any(map(math.isnan, (start, stop, step))):
        raise UserError(f"{text} is no range: expected range(FIRST,END) or range(FIRST,END,STEP)")
    check_number_of_runs(abs((stop - start) / step))
