"""Where a run is mirrored: the ``logger`` section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ilc.errors import UserError
from lab.configuration.section import Section


@dataclass(frozen=True)
class NoMirror:
    """``logger=none``: the files speak for themselves."""


@dataclass(frozen=True)
class WandbOptions:
    """``logger=wandb``.

    Attributes:
        project: of W&B.
        mode: ``offline`` needs no account, ``online`` syncs.
    """

    project: str
    mode: Literal["offline", "online"] = "offline"


LoggerOptions = NoMirror | WandbOptions

KINDS = {"none": NoMirror, "wandb": WandbOptions}


def logger_options(values: Mapping[str, Any]) -> LoggerOptions:
    """Read the section.

    Raises:
        UserError: no such logger, or an option that it does not have or refuses.
    """
    name = values.get("name")
    if not isinstance(name, str) or name not in KINDS:
        raise UserError(f"logger.name must be one of {', '.join(KINDS)}, got {name!r}")
    options = {str(key): value for key, value in values.items() if key != "name"}
    made: LoggerOptions = Section("logger", name, KINDS[name], options).build()
    return made
