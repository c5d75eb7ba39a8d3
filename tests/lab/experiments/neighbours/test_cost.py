"""The step cost of the neighbours has a row for each that the searches know, beside plain training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import torch

from lab.experiments.neighbours.measurements import cost
from lab.runs.search.search_file import load_definitions

FEW = ("mean", "v_rex")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_a_row_per_method(monkeypatch: pytest.MonkeyPatch) -> None:
    every = load_definitions(cost.SEARCHES)
    assert len(every) == 20
    few = [definition for definition in every if definition.name.rpartition("/")[2] in FEW]
    monkeypatch.setattr(cost, "load_definitions", lambda _: few)
    (measure,) = cost.parts(steps=1).values()
    made: Any = measure()["neighbours/cost.csv"]
    assert isinstance(made, pd.DataFrame)
    assert list(made.method) == list(FEW)
    assert made.relative[0] == 1
    assert (made.milliseconds > 0).all()
