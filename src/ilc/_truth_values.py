"""The check of options that are true or false."""

from __future__ import annotations

from typing import Any

from ilc.errors import UserError


def check_truth_value(name: str, value: Any) -> bool:
    """Return the value of an option as a bool.

    Raises:
        UserError: the value is neither True nor False. A word such as ``"false"`` would count as True.
    """
    if isinstance(value, str) or value not in (True, False):
        raise UserError(f"{name} must be True or False, got {value!r}")
    return bool(value)
