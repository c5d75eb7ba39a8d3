"""A study goes on where it was, leaves nothing out silently and writes whole files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ilc.errors import UserError
from lab.runs.study.make import make_study, write_results
from lab.runs.study.study_file import load_study

TOY = Path(__file__).parents[1] / "toy"
MEASURED = """
about: A toy
cost: seconds
steps:
  - measurement:
      module: toy_measurement
      options: {{folder: {folder}, fail: {fail}}}
      makes: [toy/values.csv, toy/values.npz, toy/other.csv]
      float_format: "%.3g"
"""
TRAINED = """
about: Runs that may diverge, and a search
cost: seconds
steps:
  - runs:
      fixed: [experiment=spirals, {tiny}]
      overrides: [["aggregator=mean,and_mask", "optimizer.lr=1e-3,1e30"]]
      to: toy/lr
      columns: [optimizer.lr]
      curves: false
      may_diverge: {may_diverge}
  - search:
      names: [{search}]
      to: toy/trials
"""
WRONG = """
about: Runs that may diverge, and one with a wrong option
cost: seconds
steps:
  - runs:
      fixed: [experiment=spirals, {tiny}]
      overrides: [["aggregator=mean", "dataset.n_environments=0,2"]]
      to: toy/wrong
      may_diverge: true
"""
SEARCH = """
fixed: [experiment=spirals, aggregator=mean, {tiny}]
space: {{optimizer.lr: {{choice: [1.0e-3, 1.0e-2]}}}}
objective: {{test/accuracy: maximize}}
selection: last
trials: 2
"""


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a study of the toy measurement."""
    monkeypatch.syspath_prepend(TOY)

    def write(fail: bool = False) -> Path:
        path = tmp_path / "measured.yaml"
        path.write_text(MEASURED.format(folder=tmp_path, fail=str(fail).lower()))
        return path

    return write


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().split()


@pytest.mark.slow
def test_killed_it_goes_on_and_repeats_no_finished_part(
    measured: Callable[..., Path], root: Path, wait_for: Any, tmp_path: Path
) -> None:
    script, results = str(root / "scripts" / "study.py"), tmp_path / "results"
    places = ["--output", str(tmp_path / "out"), "--results", str(results)]
    command = [sys.executable, script, str(measured()), *places]
    path = os.pathsep.join([str(TOY), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}
    environment["PYTHONPATH"] = path
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: True if (tmp_path / "calls").exists() and "slow" in calls(tmp_path) else None)
        process.send_signal(signal.SIGKILL)
    (tmp_path / "go").touch()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert calls(tmp_path) == ["first", "slow", "slow", "last"]
    assert "measured: 3 of 3" in done.stdout
    assert str(results / "toy" / "values.csv") in done.stdout
    # Rows in the parts' order, numbers in the study's format, thresholds as numbers where one has none.
    assert (results / "toy" / "values.csv").read_text().splitlines() == [
        "part,value,threshold",
        "first,0.3,",
        "first,1,",
        "last,2,0.5",
    ]
    assert (results / "toy" / "values.npz").read_bytes() == b"last"
    (kept,) = (tmp_path / "out").glob("parts/*/first/toy/values.csv")
    assert pd.read_csv(kept, float_precision="round_trip").value[0] == 0.1 + 0.2
    (results / "toy" / "values.csv").unlink()
    subprocess.run([*command, "--export"], env=environment, check=True, timeout=60, capture_output=True)
    assert (results / "toy" / "values.csv").exists()
    assert len(calls(tmp_path)) == 4


@pytest.mark.usefixtures("in_this_process")
def test_a_part_that_fails_does_not_stop_the_others_and_what_is_done_can_be_exported(
    measured: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "go").touch()
    study = load_study(str(measured(fail=True)))
    with pytest.raises(UserError, match=r"1 of 3 jobs failed:\n  toy_measurement, slow: it did not work"):
        make_study(study, tmp_path / "out", tmp_path / "results", 1)
    write_results(study, tmp_path / "out", tmp_path / "results")
    assert "toy/other.csv: 2 of 3 jobs are done, the others are left out" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "results" / "toy" / "values.csv")) == 3
    assert not (tmp_path / "results" / "toy" / "other.csv").exists()
    # Other options are another measurement.
    mended = load_study(str(measured(fail=False)))
    nowhere = tmp_path / "nowhere"
    assert mended.steps[0].count(tmp_path / "out", nowhere) == (0, 3)
    assert study.steps[0].count(tmp_path / "out", nowhere) == (2, 3)


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        (
            "module: toy_measurement",
            "module: toy_measurment",
            r"toy_measurment is not a measurement \(No module named",
        ),
        ("module: toy_measurement", "module: toy_jobs", "toy_jobs is not a measurement .*'parts'"),
        ("fail: false", "fails: false", "unexpected keyword argument 'fails'.*its options are folder, fail"),
        (", toy/other.csv", "", "makes toy/other.csv, which its study does not list"),
    ],
)
@pytest.mark.usefixtures("in_this_process")
def test_mistakes_are_readable(
    line: str, replacement: str, message: str, measured: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "go").touch()
    path = measured()
    assert line in path.read_text()
    path.write_text(path.read_text().replace(line, replacement))
    with pytest.raises(UserError, match=message):
        make_study(load_study(str(path)), tmp_path / "out", tmp_path / "results", 1)


@pytest.fixture
def trained(tiny: tuple[str, ...], tmp_path: Path) -> Callable[[bool], Path]:
    """Writes a study of tiny runs, half of which diverge, and of a tiny search."""
    options = ", ".join(option for option in tiny if option != "logger=none")

    def write(may_diverge: bool) -> Path:
        search, path = tmp_path / "toy_search.yaml", tmp_path / "trained.yaml"
        search.write_text(SEARCH.format(tiny=options))
        flag = str(may_diverge).lower()
        path.write_text(TRAINED.format(tiny=options, may_diverge=flag, search=search))
        return path

    return write


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.slow
def test_runs_that_may_diverge_are_rows_without_metrics_and_others_are_an_error(
    trained: Callable[[bool], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, results = tmp_path / "out", tmp_path / "results"
    with pytest.raises(UserError, match=r"2 of 6 jobs failed:\n.*training diverged.*\(log: .*log.txt\)"):
        make_study(load_study(str(trained(False))), out, results, 2)
    study = load_study(str(trained(True)))
    assert [step.count(out, results) for step in study.steps] == [(4, 4), (2, 2)]
    # Nothing is left to do.
    monkeypatch.setattr("lab.runs.sweep.sweep.run", None)
    make_study(study, out, results, 1)
    write_results(study, out, results)
    runs = pd.read_csv(results / "toy" / "lr_runs.csv")
    assert runs.aggregator.tolist() == ["and_mask", "and_mask", "mean", "mean"]
    assert np.allclose(runs["optimizer.lr"], [1e-3, 1e30] * 2)
    diverged = runs[runs.stopped == "failed"]
    assert diverged["optimizer.lr"].tolist() == [1e30] * 2
    assert diverged.error.str.startswith("training diverged").all()
    assert diverged.command.str.contains("optimizer.lr=1e+30", regex=False).all()
    assert diverged["test/accuracy"].isna().all()
    assert runs[runs.stopped != "failed"]["test/accuracy"].notna().all()
    assert not (results / "toy" / "lr_curves.csv").exists()
    trials = pd.read_csv(results / "spirals" / "search" / "toy_search_trials.csv")
    assert trials.chosen.sum() == 1
    assert len(pd.read_csv(results / "toy" / "trials_runs.csv")) == 2
    assert len(pd.read_csv(results / "toy" / "trials_curves.csv")) == 6
    assert "lr:" in (results / "spirals" / "search" / "toy_search.yaml").read_text()


@pytest.mark.usefixtures("in_this_process")
def test_a_wrong_option_is_named_and_tried_again_also_where_runs_may_diverge(
    tiny: tuple[str, ...], tmp_path: Path
) -> None:
    options = ", ".join(option for option in tiny if option != "logger=none")
    path, out, results = tmp_path / "wrong.yaml", tmp_path / "out", tmp_path / "results"
    path.write_text(WRONG.format(tiny=options))
    study = load_study(str(path))
    for _ in range(2):
        with pytest.raises(UserError, match=r"1 of 2 jobs failed:\n.*n_environments.*\(log: .*log.txt\)"):
            make_study(study, out, results, 1)
        assert len(pd.read_csv(results / "toy" / "wrong_runs.csv")) == 1
    assert not list(out.rglob("failed.txt"))
