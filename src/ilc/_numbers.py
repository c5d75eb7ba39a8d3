"""The checks of options that are numbers."""

from __future__ import annotations

import math
from numbers import Integral, Rational, Real
from typing import Any

from ilc.errors import UserError


def check_number(name: str, value: Any) -> float:
    """Return the value of an option as a float, which may be infinite or NaN.

    Raises:
        UserError: the value is no number. A truth value, a text and a tensor are none.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UserError(f"{name} must be a number, got {_shown(value)}: give a plain number, such as 0.5")
    if not isinstance(value, (float, Rational)):
        # NumPy's float32 nearest to 0.8 is a little above 0.8. Its text is the number that the user wrote.
        return float(str(value))
    number: Any = value
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_whole_number(name: str, value: Any) -> int:
    """Return the value of an option as an int.

    Raises:
        UserError: the value is no whole number. A truth value, a float, a text and a tensor are none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UserError(f"{name} must be a whole number, got {_shown(value)}: give an int")
    return int(value)


def _shown(value: Any) -> str:
    """The value in one line, with its type."""
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 60 else f'{text[:60]}...'} of type {type(value).__name__}"
