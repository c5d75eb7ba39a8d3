"""The options of the section ``logger``: where the metrics of a run are copied to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ilc.errors import UserError
from lab.configuration.section import Section


@dataclass(frozen=True)
class NoMirror:
    """``logger=none``: the metrics are only in the files of the run."""


@dataclass(frozen=True)
class WandbOptions:
    """``logger=wandb``.

    Attributes:
        project: the name of the project in W&B.
        mode: ``offline`` needs no account; ``online`` sends the metrics to the server.
    """

    project: str
    mode: Literal["offline", "online"] = "offline"


LoggerOptions = NoMirror | WandbOptions

KINDS = {"none": NoMirror, "wandb": WandbOptions}


def logger_options(values: Mapping[str, Any]) -> LoggerOptions:
    """Read the section.

    Raises:
        UserError: there is no such logger, or an option is unknown or refused.
    """
    name = values.get("name")
    if not isinstance(name, str) or name not in KINDS:
        raise UserError(f"logger.name must be one of {', '.join(KINDS)}, got {name!r}")
    options = {str(key): value for key, value in values.items() if key != "name"}
    made: LoggerOptions = Section("logger", name, KINDS[name], options).build()
    return made
