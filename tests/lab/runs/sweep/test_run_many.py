"""Runs side by side are the runs that a sweep makes one after another."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from lab.files.locked import lock
from lab.machine.stop_signals import STOPPED
from lab.runs.study.own_tables import tables_prefix

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def options(tiny: tuple[str, ...]) -> list[str]:
    """Tiny spirals; workers switch W&B off themselves."""
    return [option for option in tiny if option != "logger=none"]


@pytest.mark.slow
def test_the_same_runs_as_a_sweep(
    train: TrainCommand, options: list[str], script: Any, tmp_path: Path
) -> None:
    sweep = ["aggregator=mean,and_mask", "optimizer.lr=1e-3,1e30", "seed=1"]
    assert train("-m", *options, "logger=none", *sweep, "hydra.sweep.dir=sweep").returncode == 1
    to = str(tmp_path / "tables" / "x")
    done = script("run_many", *options, *sweep, "--output", str(tmp_path / "many"), "--to", to)
    assert done.returncode == 1
    assert "2 of 4 runs are done" in done.stdout
    assert "2 runs failed" in done.stderr
    assert "training diverged" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "tables").exists()  # Runs that failed are not left out silently.
    losses = []
    for folder in ("sweep", "many"):
        runs = sorted((tmp_path / folder).glob("spirals/*/summary.json"))
        losses.append({path.parent.name: json.loads(path.read_text())["train/loss"] for path in runs})
    assert losses[0] == losses[1]
    assert len(losses[0]) == 2


@pytest.mark.slow
def test_tables_hold_the_runs_of_the_sweep_alone_and_their_commands_repeat_them(
    train: TrainCommand, options: list[str], script: Any, tmp_path: Path
) -> None:
    # The mean has no threshold: one run, not two.
    sweep = ["aggregator=mean,and_mask", "aggregator.agreement_threshold=0.5,0.9"]
    tables = ["--to", str(tmp_path / "tables" / "x"), "--columns", "optimizer.lr", "aggregator.name"]
    for more in ([], ["optimizer.lr=0.5", *tables]):
        done = script("run_many", *options, *sweep, *more, "--output", str(tmp_path / "many"))
        assert done.returncode == 0, done.stderr
        assert "3 of 3 runs are done" in done.stdout
    assert len(list((tmp_path / "many").glob("spirals/*/done"))) == 6
    runs, curves = (
        pd.read_csv(tmp_path / "tables" / f"x_{kind}.csv", float_precision="round_trip")
        for kind in ("runs", "curves")
    )
    assert runs["optimizer.lr"].tolist() == [0.5] * 3
    assert runs["aggregator.name"].tolist() == ["and_mask", "and_mask", "mean"]
    assert runs["aggregator.agreement_threshold"].tolist()[:2] == [0.5, 0.9]
    assert curves.epoch.tolist() == [1, 2, 3] * 3
    again = train(*shlex.split(runs.command[0])[2:], "hydra.sweep.dir=again")
    assert again.returncode == 0, again.stderr
    (summary,) = (tmp_path / "again").rglob("summary.json")
    assert json.loads(summary.read_text())["train/loss"] == runs["train/loss"][0]


@pytest.mark.slow
def test_stopped_its_runs_stop_between_two_steps_and_killed_it_takes_them_along(
    options: list[str], root: Path, wait_for: Any, tmp_path: Path
) -> None:
    endless = [
        "trainer.max_epochs=1000000",
        "trainer.stop_when_memorised=false",
        "trainer.evaluate_every=100",
    ]
    long = [*options, "aggregator=mean", *endless, "--output", str(tmp_path)]
    command = [sys.executable, str(root / "scripts" / "run_many.py"), *long]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        folder = wait_for(
            lambda: next((path.parent for path in tmp_path.glob("spirals/*/metrics.jsonl")), None)
        )
        process.terminate()
        errors = process.communicate()[1]
    assert process.returncode == STOPPED
    assert errors == "Stopped by SIGTERM: run the same command again to continue\n"
    assert "Stopped by SIGTERM after epoch" in (folder / "log.txt").read_text()
    evaluated = len((folder / "metrics.jsonl").read_text().splitlines())
    assert torch.load(folder / "checkpoint.pt", weights_only=True)["step"] >= evaluated * 200
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: len((folder / "metrics.jsonl").read_text().splitlines()) > evaluated or None)
        assert lock(folder) is None
        process.kill()
    os.close(wait_for(lambda: lock(folder)))
    assert "continuing after epoch" in (folder / "log.txt").read_text()


@pytest.mark.parametrize("arguments", [["seed=0", "--workers", "0"], ["sead=0"]])
def test_mistakes_are_readable(arguments: list[str], script_here: Any, tmp_path: Path) -> None:
    done = script_here("run_many", *arguments, "--output", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_a_column_that_no_run_has_is_refused_before_anything_is_trained(
    script_here: Any, options: list[str], tmp_path: Path
) -> None:
    many = tmp_path / "many"
    tables = [
        "--output",
        str(many),
        "--to",
        str(tmp_path / "x"),
        "--columns",
        "optimizer.lr",
        "optimizer.lrr",
    ]
    done = script_here("run_many", *options, "seed=0,1", *tables)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "Error: --columns names optimizer.lrr, which the config of no run has: check"
    )
    assert done.stderr.count("\n") == 1 and not many.exists()


@pytest.mark.parametrize("text", ["logger=wandb", "logger.mode=online", "threads=4"])
def test_what_workers_do_not_read_is_refused(text: str, script_here: Any, tmp_path: Path) -> None:
    done = script_here("run_many", text, "--output", str(tmp_path / "many"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(
        f"Error: {text} is not read here, because every worker has threads=1 and logger=none: leave it out"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["", "_runs.csv", "_curves.csv"])
def test_the_table_of_a_study_is_refused(ending: str, script_here: Any, root: Path, tmp_path: Path) -> None:
    to = root / "results" / "spirals" / f"demo{ending}"
    done = script_here("run_many", "seed=0,1", "--output", str(tmp_path / "many"), "--to", str(to))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "demo_runs.csv is made by the study spirals_demo: choose another --to, or make" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_beginning_of_names_of_tables(script_here: Any, options: list[str], tmp_path: Path) -> None:
    assert tables_prefix(tmp_path / "x_runs.csv") == tables_prefix(tmp_path / "x") == tmp_path / "x"
    (tmp_path / "there").mkdir()
    # The second one is no folder before its runs are made.
    for to in (tmp_path / "there", tmp_path / "spirals"):
        done = script_here("run_many", *options, "seed=0", "--output", str(tmp_path), "--to", str(to))
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert f"{to} is a folder: add a name, such as --to {to / 'mine'}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_the_folder_of_a_sweep_is_not_ignored(script_here: Any, options: list[str], tmp_path: Path) -> None:
    folders = [f"hydra.sweep.dir={tmp_path / 'sweep'}", "--output", str(tmp_path / "many")]
    done = script_here("run_many", *options, "seed=0,1", *folders)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "Error: hydra.sweep.dir is not read here: name the folder of all runs with "
    )
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_refused_before_any_worker(script_here: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = script_here("run_many", "seed=0,1", "--output", str(tmp_path / "file"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert f"{tmp_path / 'file'} is a file, not a folder" in done.stderr
