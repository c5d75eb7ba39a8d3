"""The options that a sweep varies: tables of its runs get a column for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lab.configuration.groups import CONF
from lab.configuration.overrides import key_of
from lab.configuration.resolve import METHOD_KEYS

IN_EVERY_TABLE = ("experiment", "seed", *METHOD_KEYS)
"""What every table has as a column already."""


def swept_keys(runs: Iterable[Sequence[str]]) -> list[str]:
    """The keys that have more than one value among the runs, in the order in which the runs name them.

    A run that does not name a key counts as another value. The choice of a config group (``model=mlp``) is a
    whole section and no value, so it is not among the keys.

    Args:
        runs: the overrides of each run, as ``plan`` returns them.
    """
    values = [{key_of(text): text.partition("=")[2] for text in own} for own in runs]
    keys = dict.fromkeys(key for own in values for key in own)
    return [
        key
        for key in keys
        if key not in IN_EVERY_TABLE
        and not (CONF / key).is_dir()
        and len({own.get(key) for own in values}) > 1
    ]
