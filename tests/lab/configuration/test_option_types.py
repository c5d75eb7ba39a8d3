"""Every option of every experiment refuses what is not of its type, before anything is built."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.configuration.groups import CONF
from lab.runs.one_run.run_options import RunOptions

EXPERIMENTS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
CHOICES = [
    *(f"experiment=spirals aggregator={path.stem}" for path in sorted((CONF / "aggregator").glob("*.yaml"))),
    *(f"experiment=spirals model={path.stem}" for path in sorted((CONF / "model").glob("*.yaml"))),
    "experiment=spirals optimizer=sgd",
    "experiment=spirals logger=none",
]

OF_ANOTHER_TYPE: dict[type, list[Any]] = {
    bool: ["no", 1, math.nan, [1, 2], {}, None],
    int: ["x", 1.5, True, math.nan, [1], {}],
    float: ["x", True, math.nan, math.inf, -math.inf, [1], {}],
    str: [5, True, math.nan, ["x"], {}, None],
    list: ["x", 5, True, {}, ["x"], [None], None],
    type(None): [True, math.nan, [1], {}],
    dict: ["x", 5, True, [1], None],
}
"""Type of the value that the config has -> values that cannot be meant."""

MAY_BE_NULL = {"dataset.batches=None"}
ALSO_MEANT = {
    "experiment=linear_unit_tests": {"method=None", "dataset.problem=5"},
    "experiment=spirals aggregator=gram_weights": {"aggregator.options={}"},
}
"""The method left to the aggregator; a problem named by a number (that there is none of 5 is said later); no
options of a class in a section."""


def options(values: dict[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        yield (*place, key), value
        if isinstance(value, dict):
            yield from options(value, (*place, key))


def changed(content: dict[str, Any], place: tuple[str, ...], value: Any) -> dict[str, Any]:
    result = copy.deepcopy(content)
    section = result
    for key in place[:-1]:
        section = section[key]
    section[place[-1]] = value
    return result


@pytest.mark.parametrize("choice", [*(f"experiment={name}" for name in EXPERIMENTS), *CHOICES])
def test_values_of_another_type(choice: str) -> None:
    content = compose_experiment(choice.split())
    RunOptions.of(content)
    accepted = []
    for place, value in options(content):
        for other in OF_ANOTHER_TYPE[type(value)]:
            try:
                RunOptions.of(changed(content, place, other))
                accepted.append(f"{'.'.join(place)}={other!r}")
            except UserError as error:
                assert "\n" not in str(error)
                assert place[-1] in str(error)
    assert set(accepted) <= MAY_BE_NULL | ALSO_MEANT.get(choice, set())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_keys_that_are_missing(name: str) -> None:
    """Of what every run has, and of what its task needs."""
    content = compose_experiment([f"experiment={name}"])
    needed = 0
    for key in content:
        less = {other: value for other, value in content.items() if other != key}
        try:
            RunOptions.of(less)
        except UserError as error:
            assert f"the config lacks {key!r}" in str(error)
            needed += 1
    assert needed >= 10
