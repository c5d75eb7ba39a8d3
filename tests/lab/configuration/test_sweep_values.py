"""How many runs a command names: counted before they are made, in no time."""

from __future__ import annotations

import time

import pytest

from ilc.errors import UserError
from lab.configuration.compose import combinations
from lab.configuration.sweep_values import MOST


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["seed=range(0,3)"], [["seed=0"], ["seed=1"], ["seed=2"]]),
        (["seed=range(3)"], [["seed=0"], ["seed=1"], ["seed=2"]]),
        (["seed=range(4,0,-2)"], [["seed=4"], ["seed=2"]]),
        (["a=1,2", "b=x", "c=3,4"], [[a, "b=x", c] for a in ("a=1", "a=2") for c in ("c=3", "c=4")]),
        (["a=range(0,1,0.5)"], [["a=0.0"], ["a=0.5"]]),
    ],
)
def test_all_combinations(overrides: list[str], expected: list[list[str]]) -> None:
    assert combinations(overrides) == expected


@pytest.mark.parametrize(
    "overrides",
    [
        ["seed=range(0,1000000000)"],
        ["seed=range(0,1e300)"],
        ["seed=range(0,inf)"],
        ["seed=range(1000000000000000000000000000000,0,-1)"],
        ["seed=shuffle(range(0,1000000000))"],
        ["seed=sort(range(0,1000000000),reverse=true)"],
        ["optimizer.lr=range(0,1,1e-9)"],
        [f"a{i}=0,1" for i in range(40)],
        ["a=range(0,200)", "b=range(0,200)"],
        ["a=range(0,1e9)", "b=range(3,0)"],
    ],
)
def test_too_many_are_refused_at_once(overrides: list[str]) -> None:
    began = time.monotonic()
    with pytest.raises(UserError, match=rf"name [\d,inf]+ runs, but one command makes at most {MOST:,}"):
        combinations(overrides)
    assert time.monotonic() - began < 5


def test_as_many_as_may_be() -> None:
    assert len(combinations([f"seed=range(0,{MOST})"])) == MOST
    with pytest.raises(UserError, match=f"name {MOST + 1:,} runs"):
        combinations([f"seed=range(0,{MOST + 1})"])


@pytest.mark.parametrize("text", ["seed=range(3,0)", "seed=range(0,3,-1)", "seed=range(2,2)"])
def test_a_range_of_nothing(text: str) -> None:
    with pytest.raises(UserError, match="names no value"):
        combinations([text])


@pytest.mark.parametrize("text", ["seed=range(0,3,0)", "seed=range(0,nan)", "seed=range(nan,3)"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(UserError, match="is not a range"):
        combinations([text])
