"""The keys that every run has, whatever it trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ilc.errors import UserError
from lab.configuration.keys import check_type, checked_folder_name
from lab.configuration.overrides import shortened
from lab.configuration.scale import check_scale

SHARED_KEYS: dict[str, Any] = {
    "name": str,
    "task": str,
    "seed": int,
    "scale": str,
    "device": str,
    "threads": int | None,
    "data_dir": str,
    "trainer": dict,
    "logger": dict,
}
"""Key -> type. All other keys of a config belong to the task."""


def check_shared_keys(content: Mapping[str, Any]) -> None:
    """Check that a resolved config has all shared keys, with possible values.

    Raises:
        UserError: a key is missing, has the wrong type, or is out of range.
    """
    for key, kind in SHARED_KEYS.items():
        if key not in content:
            raise UserError(
                f"the config lacks {key!r}, which every run needs: leave '~{key}' out. An experiment of your "
                "own needs '# @package _global_' as its first line, and its defaults '- /trainer: default'"
            )
        if kind is dict:
            if not isinstance(content[key], Mapping):
                raise UserError(f"{key} must be a section, got {content[key]!r}: choose one of conf/{key}")
        else:
            if key == "seed" and isinstance(content[key], list):
                seeds = ",".join(map(str, content[key]))
                raise UserError(
                    f"seed must be one whole number, got {shortened(str(content[key]))}: a run for each of "
                    f"several is a sweep, -m seed={shortened(seeds)}"
                )
            check_type(key, content[key], kind)
    checked_folder_name("name", content["name"])
    check_scale(content["scale"])
    if content["seed"] < 0:
        raise UserError(f"seed must be a whole number of at least 0, got {content['seed']}")
