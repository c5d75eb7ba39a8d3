"""Studies are checked before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.runs.study.measurement_step import MeasurementStep
from lab.runs.study.runs_step import RunsStep
from lab.runs.study.search_step import SearchStep
from lab.runs.study.study_file import load_study

GOOD = """
about: Something
cost: seconds
steps:
  - runs:
      overrides: [[experiment=spirals, "seed=0,1"]]
      to: toy/x
      columns: [optimizer.lr]
  - search:
      names: [spirals/l1]
  - measurement:
      module: toy_measurement
      options: {folder: somewhere}
      makes: [toy/values.csv]
"""


def test_steps_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD)
    study = load_study(str(path))
    assert study.name == "own"
    assert not study.unfinished
    assert study.steps == (
        RunsStep((("experiment=spirals", "seed=0,1"),), "toy/x", columns=("optimizer.lr",)),
        SearchStep(("spirals/l1",)),
        MeasurementStep("toy_measurement", ("toy/values.csv",), {"folder": "somewhere"}),
    )
    trials = "spirals/search/spirals/l1_trials.csv"
    assert study.files == ("toy/x_runs.csv", "toy/x_curves.csv", trials, "toy/values.csv")


def test_a_study_may_be_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"unfinished: true\n{GOOD}")
    assert load_study(str(path)).unfinished


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        ("about: Something", "", "lacks about"),
        ("about: Something", "abuot: Something", "unknown key 'abuot'. Did you mean 'about'"),
        ("cost: seconds", "cost: [1]", "cost must be a text"),
        (
            "cost: seconds",
            "cost: seconds\nunfinished: maybe",
            "unfinished must be true or false, got 'maybe'",
        ),
        ("cost: seconds", "cost: seconds\nunfinished: 1", "unfinished must be true or false, got 1"),
        ("- runs:", "- rnus:", "step 1 must be one of runs, search, measurement, got"),
        (
            "to: toy/x",
            "to: /toy/x",
            "step 1: runs.to must be a path below results/, such as spirals/demo, got",
        ),
        ("to: toy/x", "to: ../x", "must be a path below results/"),
        ("to: toy/x", "", "step 1: runs lacks to"),
        ("to: toy/x", "to: toy/x\n      curves: 1", "curves must be true or false, got 1"),
        (
            '[[experiment=spirals, "seed=0,1"]]',
            "[experiment=spirals]",
            "must be a list of lists of overrides",
        ),
        ("columns: [optimizer.lr]", "columns: optimizer.lr", "columns must be a list of words"),
        ("columns: [optimizer.lr]", "column: []", "unknown key '.*column'. Did you mean 'columns'"),
        ("names: [spirals/l1]", "names: []", "names must be a list of words"),
        ("options: {folder: somewhere}", "options: somewhere", "options must be a section of option: value"),
    ],
)
def test_errors_are_readable(line: str, replacement: str, message: str, tmp_path: Path) -> None:
    assert line in GOOD
    path = tmp_path / "own.yaml"
    path.write_text(GOOD.replace(line, replacement))
    with pytest.raises(UserError, match=message):
        load_study(str(path))


def test_an_unknown_study_names_those_there_are() -> None:
    expected = "no study is called 'spirals_dmo': did you mean 'spirals_demo'[?] Choose one of .*benchmark, "
    with pytest.raises(UserError, match=expected):
        load_study("spirals_dmo")
    with pytest.raises(UserError, match=r"no study is called 'x': choose one of .*spirals_demo"):
        load_study("x")


def test_a_column_that_no_run_has_is_refused_before_the_first_run(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        GOOD.replace("columns: [optimizer.lr]", "columns: [optimizer.lr, optimizer.learning_rate]")
    )
    step = load_study(str(path)).steps[0]
    with pytest.raises(
        UserError, match=r"columns names optimizer\.learning_rate, which the config of no run"
    ):
        step.count(tmp_path, tmp_path)
