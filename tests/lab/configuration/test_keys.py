"""Every value of a config against its type, whatever the type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from torch import Tensor

from ilc.errors import UserError
from lab.configuration.keys import check_type, checked_folder_name

FITTING: list[tuple[Any, Any]] = [
    (True, bool),
    (3, int),
    (3, float),
    (0.5, float),
    ("a", str),
    (None, int | None),
    (None, Tensor | None),
    ([0.9, 0.999], tuple[float, float]),
    ([0.9, 0.999], tuple[float | Tensor, float | Tensor]),
    ([], tuple[float, ...]),
    ([1, 0.5], Sequence[float]),
    (["a"], list[str]),
    ("online", Literal["offline", "online"]),
    ({"n_byzantine": 1}, dict[str, Any] | None),
    ({}, Mapping[str, int]),
    # What no config can hold checks itself.
    ("x", Tensor),
    ([1, 2], Any),
]
WRONG: list[tuple[Any, Any, str]] = [
    ("no", bool, "true or false"),
    (1, bool, "true or false"),
    (None, bool, "true or false"),
    ([1, 2], bool, "true or false"),
    (float("nan"), bool, "true or false"),
    (True, int, "a whole number"),
    (1.0, int, "a whole number"),
    (True, float, "a finite number"),
    (float("nan"), float, "a finite number"),
    (float("inf"), float | None, "a finite number or null"),
    ("0.1", float, "a finite number"),
    ({}, str, "a word"),
    ({"a": 1}, int | None, "a whole number or null"),
    (5, Tensor | None, "null"),
    ([0.9], tuple[float, float], "a list of 2: a finite number, a finite number"),
    ([0.9, "x"], tuple[float | Tensor, float | Tensor], "a list of 2"),
    (0.9, tuple[float, float], "a list of 2"),
    ("ab", list[str], "a list, each of it a word"),
    ([0.5, None], tuple[float, ...], "a list, each of it a finite number"),
    (5, dict[str, Any] | None, "a section {KEY: VALUE} or null"),
    ("cloud", Literal["offline", "online"], "one of offline, online"),
]


@pytest.mark.parametrize(("value", "annotation"), FITTING, ids=str)
def test_fitting(value: Any, annotation: Any) -> None:
    check_type("key", value, annotation)


@pytest.mark.parametrize(("value", "annotation", "expected"), WRONG, ids=str)
def test_wrong(value: Any, annotation: Any, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        check_type("key", value, annotation)
    assert str(caught.value).startswith(f"key must be {expected}")
    assert str(caught.value).endswith(f", got {value!r}")


@pytest.mark.parametrize("name", ["spirals", "and_mask", "a.b-c+d", "ü"])
def test_names_of_folders(name: str) -> None:
    assert checked_folder_name("name", name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", "a b", "a\0", "x" * 101, None, 3])
def test_names_that_lead_elsewhere(name: Any) -> None:
    with pytest.raises(UserError, match="name must be a word"):
        checked_folder_name("name", name)
