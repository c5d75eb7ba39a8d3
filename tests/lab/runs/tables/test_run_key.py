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
