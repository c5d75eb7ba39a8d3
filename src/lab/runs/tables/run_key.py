"""What a run is called in tables: a key made from its overrides, so that it outlives renamed defaults."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable

from ilc.errors import UserError

RUN = "run"
"""Column of the tables: which run a row is of."""
KEY = "[0-9a-f]{8}"
"""What such a key looks like."""
NOT_THE_RUN = ("threads", "logger", "device", "data_dir")
"""Overrides that say where and how a run is made, and not what it is."""


def run_key(overrides: Iterable[str]) -> str:
    """Eight hexadecimal digits that stand for the overrides of a run, in whatever order they are given."""
    values = dict(text.partition("=")[::2] for text in overrides)
    own = {key: value for key, value in values.items() if key not in NOT_THE_RUN}
    text = "\n".join(sorted(f"{key}={value}" for key, value in ({"seed": "0"} | own).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def overrides_in(command: str) -> list[str]:
    """The overrides in a recorded command.

    Raises:
        UserError: a quote in it is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(
            f"the recorded command {command!r} cannot be read ({error}): it was changed or cut short. Put "
            "back the file in which it is"
        ) from error
    return [text for text in words[2:] if text != "-m"]
