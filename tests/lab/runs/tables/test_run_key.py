"""What a run is called, and the overrides of a recorded command."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilc.errors import UserError
from lab.runs.tables.run_key import overrides_in, run_key


@given(st.lists(st.text(min_size=1).filter(lambda text: text != "-m")))
def test_overrides_come_back_from_a_command(overrides: list[str]) -> None:
    assert overrides_in(shlex.join(["python", "src/train.py", "-m", *overrides])) == overrides


def test_the_key_does_not_depend_on_the_order() -> None:
    assert run_key(["seed=1", "model.width=8"]) == run_key(["model.width=8", "seed=1", "threads=2"])
    assert run_key(["seed=1"]) != run_key(["seed=2"])


def test_a_quote_that_is_not_closed_is_named() -> None:
    with pytest.raises(UserError, match="No closing quotation") as error:
        overrides_in("python src/train.py 'seed=1")
    assert "\n" not in str(error.value)


def test_where_and_how_a_run_is_made_is_no_part_of_the_key_and_seed_0_is_the_default() -> None:
    """The key is frozen, because committed tables hold it."""
    assert run_key(["experiment=spirals", "optimizer.lr=0.1"]) == "0d51f7df"
    for more in ("seed=0", "threads=1", "logger=none", "device=cpu", "data_dir=here"):
        assert run_key(["experiment=spirals", "optimizer.lr=0.1", more]) == "0d51f7df"
    for more in ("seed=1", "optimizer.lr=0.10", "scale=small"):
        assert run_key(["experiment=spirals", "optimizer.lr=0.1", more]) != "0d51f7df"
