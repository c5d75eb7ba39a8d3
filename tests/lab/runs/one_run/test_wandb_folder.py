"""What a run leaves for W&B is complete by W&B's own reader, and one run however often it was stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from lab.configuration.compose import compose_experiment
from lab.runs import run
from lab.runs.one_run.run_directory import RunDirectory

pytestmark = pytest.mark.slow

WANDB = ("-m", "wandb")


class Killed(BaseException):
    """What a run never gets to see."""


@pytest.fixture(scope="module")
def folder(tiny: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run that was killed after an evaluation and continued; its summary is not of the last evaluation."""
    options = [option for option in tiny if option not in ("logger=none", "trainer.max_epochs=3")]
    rule = ["trainer.selection=training_environments", "trainer.max_epochs=6", "optimizer.lr=1"]
    rule.append("trainer.stop_when_memorised=false")
    content = compose_experiment([*options, *rule, "threads=1"])
    place = tmp_path_factory.mktemp("mirrored") / "run"
    save = RunDirectory.save_checkpoint

    def save_then_die(self: RunDirectory, state: dict[str, Any], *others: Any) -> None:
        save(self, state, *others)
        if state["epoch"] == 2:
            raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(RunDirectory, "save_checkpoint", save_then_die)
        run(content, place, "")
    run(content, place, "")
    torch.use_deterministic_algorithms(False)
    yield place


def call(*arguments: str) -> str:
    command = [sys.executable, *WANDB, *arguments]
    environment = {**os.environ, "WANDB_MODE": "offline", "WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def offline_folders(run_folder: Path) -> list[Path]:
    return sorted(run_folder.glob("wandb/offline-run-*"))


def records(offline: Path, kind: str) -> list[dict[str, Any]]:
    """What W&B's reader finds in an offline folder, of one kind."""
    lines = map(json.loads, call("leet", "inspect", "--json", str(offline)).splitlines())
    return [line[kind] for line in lines if line["type"] == kind]


def test_a_resumed_run_is_one_run_whose_newest_folder_has_everything(folder: Path) -> None:
    first, last = offline_folders(folder)
    assert first.name.split("-")[-1] == last.name.split("-")[-1]
    assert (folder / "wandb" / "latest-run").resolve() == last.resolve()
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    logged = [record["item"] for record in records(last, "history")]
    assert len(metrics) == 6
    for ours, theirs in zip(metrics, logged, strict=True):
        assert {key: theirs[key] for key in ours} == ours
        assert theirs["_step"] == ours["epoch"]
    assert [record["exit_code"] for record in records(last, "exit")] == [0]


def test_config_and_summary_are_in_it(folder: Path) -> None:
    last = offline_folders(folder)[-1]
    (begun,) = records(last, "run")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    told = {key: value for key, value in begun["config"]["update"].items() if key != "_wandb"}
    assert told == config
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["epoch"] < 6, (
        "the last evaluation was selected: W&B's own summary would be right by chance"
    )
    told = {}
    for record in records(last, "summary"):
        told |= record["update"]
    assert {key: told[key] for key in summary} == summary


def test_wandb_would_sync_it(folder: Path) -> None:
    """As far as that can be seen without a network: it names both folders and complains of neither."""
    said = call("sync", "--dry-run", *map(str, offline_folders(folder)))
    assert "Would sync 2 run(s)" in said and "rror:" not in said


def test_a_second_run_of_the_process_is_mirrored_in_its_own_folder(
    folder: Path, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W&B's service was started in the folder of the first one, and takes relative paths from there."""
    assert folder.is_dir()
    monkeypatch.chdir(tmp_path)
    options = [option for option in tiny if option not in ("logger=none", "trainer.max_epochs=3")]
    run(compose_experiment([*options, "trainer.max_epochs=1", "threads=1"]), Path("second"), "")
    torch.use_deterministic_algorithms(False)
    (offline,) = offline_folders(tmp_path / "second")
    assert [record["exit_code"] for record in records(offline, "exit")] == [0]
