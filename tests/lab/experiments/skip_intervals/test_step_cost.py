"""What matching costs: timed with equal evaluations, shown with a row per stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from lab.configuration.compose import compose_experiment
from lab.experiments.skip_intervals.figures import skip_intervals_cost
from lab.experiments.skip_intervals.measurements import step_cost
from lab.experiments.skip_intervals.options import SimulatorOptions
from lab.experiments.skip_intervals.results import FOLDER
from lab.experiments.skip_intervals.unrolling import Unrolled, unrolled


def test_the_cost_is_timed_with_equal_evaluations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    plain = unrolled

    def counted(*arguments: Any, **options: Any) -> Unrolled:
        seen = plain(*arguments, **options)
        calls.append(seen.evaluations)
        return seen

    monkeypatch.setattr(step_cost, "unrolled", counted)
    times = step_cost.timed(SimulatorOptions("strided", 2), (6, 6), calls=3, batch=2, horizon=4, steps=2)
    assert set(times) == {"adaptive_without_exploration", "fixed_1"}
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in times.values())
    assert set(calls) == {6}


def test_the_table_of_costs_has_a_row_per_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"adaptive_without_exploration": [0.011, 0.011], "fixed_1": [0.01, 0.01]}
    monkeypatch.setattr(step_cost, "timed", lambda *arguments: seconds)
    before = torch.get_num_threads()
    try:
        (content,) = step_cost.parts(steps=2)["room_runner"]().values()
    finally:
        torch.set_num_threads(before)
    assert isinstance(content, pd.DataFrame)
    stages = compose_experiment(["experiment=skip_intervals"])["stages"]
    assert len(content) == len(set(zip(stages["calls"], stages["batch_sizes"], strict=True)))
    (tmp_path / FOLDER).mkdir()
    content.to_csv(tmp_path / FOLDER / "step_cost.csv", index=False)
    shown = skip_intervals_cost.tabulate(tmp_path)
    assert shown["ratio (quartiles)"].iloc[0] == "1.100 (1.100 to 1.100)"
