"""The config keys that a table has as columns, which the config of at least one run must have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from ilc.errors import UserError
from lab.configuration.compose import compose_run
from lab.configuration.resolve import resolve
from lab.runs.tables.export import value_at


def check_columns(said: str, columns: Sequence[str], runs: Collection[Sequence[str]]) -> None:
    """Refuse a key that no run's config has: its column would be empty.

    Args:
        said: what names the columns, for the message.
        columns: dotted keys.
        runs: the overrides of each run.

    Raises:
        HydraException, UserError: no run has such a key, or an override does not fit the config.
    """
    for column in columns:
        if not any(_has(config_of(tuple(own)), column) for own in runs):
            raise UserError(
                f"{said} names {column}, which the config of no run has: check its spelling against the "
                "output of src/train.py --cfg job"
            )


@cache
def config_of(overrides: tuple[str, ...]) -> dict[str, Any]:
    """The resolved config of a run.

    Raises:
        HydraException, UserError: an override does not fit the config.
    """
    return resolve(compose_run(overrides), sweep=True)


def _has(values: Mapping[str, Any], key: str) -> bool:
    try:
        value_at(values, key)
    except KeyError:
        return False
    return True
