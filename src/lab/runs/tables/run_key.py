"""The key of a run in tables. It is made from the overrides, so that it survives a change of defaults."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable

from ilc.errors import UserError

RUN = "run"
"""The column of the tables that holds the key of the run."""
KEY = "[0-9a-f]{8}"
"""A regular expression for a key."""
NOT_THE_RUN = ("threads", "logger", "device", "data_dir")
"""Overrides that are not part of the key: they say where and how a run is made."""


def run_key(overrides: Iterable[str]) -> str:
    """Eight hexadecimal digits for the overrides of a run; the order of the overrides does not matter."""
    values = dict(text.partition("=")[::2] for text in overrides)
    own = {key: value for key, value in values.items() if key not in NOT_THE_RUN}
    text = "\n".join(sorted(f"{key}={value}" for key, value in ({"seed": "0"} | own).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def overrides_in(command: str) -> list[str]:
    """The overrides in a recorded command.

    Raises:
        UserError: the command cannot be read, because a quote is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(
            f"the recorded command {command!r} cannot be read ({error}), because it was changed or cut "
            "short: put back the file that holds it"
        ) from error
    return [text for text in words[2:] if text != "-m"]
