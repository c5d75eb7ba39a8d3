"""The values of an override in a sweep (``seed=0,1``, ``seed=range(0,50)``), with a limit of their number."""

from __future__ import annotations

import math

from hydra.core.override_parser.types import Override, RangeSweep

from ilc.errors import UserError

MOST = 10_000
"""The most runs of one command. Their configs are composed first, which takes minutes for so many."""


def swept_values(text: str, entry: Override) -> list[str]:
    """The values, as text.

    Args:
        text: the override on the command line, for messages.
        entry: the override as Hydra read it.

    Raises:
        UserError: the override names no value, or too many values.
    """
    value = entry.value()
    if isinstance(value, RangeSweep):
        _check_range(text, value)
    values = list(entry.sweep_string_iterator())
    if not values:
        raise UserError(
            f"{text} names no value: give a range whose end is above its start, or a negative step"
        )
    return values


def check_number_of_runs(n: int | float) -> None:
    """Check that a command may make so many runs.

    Raises:
        UserError: these are too many.
    """
    if not n <= MOST:
        raise UserError(
            f"these overrides name {n:,.0f} runs, but one command makes at most {MOST:,}: name fewer values, "
            "or use several commands"
        )


def _check_range(text: str, value: RangeSweep) -> None:
    start, stop, step = value.start, value.stop, value.step
    if start is None or stop is None or step == 0 or any(map(math.isnan, (start, stop, step))):
        raise UserError(f"{text} is not a range: expected range(FIRST,END) or range(FIRST,END,STEP)")
    check_number_of_runs(abs((stop - start) / step))
