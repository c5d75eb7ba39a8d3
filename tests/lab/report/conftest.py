from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from lab.configuration.compose import command_of, compose_experiment
from lab.files.locked import lock
from lab.report.run_folders import find_runs
from lab.report.run_record import Record, read_record
from lab.runs import run
from lab.runs.one_run import provenance
from lab.runs.one_run.run_directory import RunDirectory
from lab.runs.sweep.sweep import attempt, plan

NASTY = "<script>document.title='taken'</script>"
"""What somebody may call a folder or a value."""


class Killed(BaseException):
    """What a run never gets to see."""


def train(overrides: list[str], folder: Path) -> None:
    run(compose_experiment(overrides, sweep=True), folder, command_of(overrides, sweep=True))


@pytest.fixture(scope="session")
def runs(tiny: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Real runs of the spirals in every state, in one folder: a sweep, a search, and what went wrong."""
    folder = tmp_path_factory.mktemp("report") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            provenance, "_git", lambda *arguments: "0" * 40
        )  # Asked twice a run, of a large repository.
        make(folder, [*tiny, "threads=1"])
    torch.use_deterministic_algorithms(False)
    descriptor = lock(folder / "running")
    assert descriptor is not None
    yield folder
    os.close(descriptor)


def make(folder: Path, shared: list[str]) -> None:
    sweep = ["aggregator=mean,and_mask", "optimizer.lr=1e-3,1e-2", "seed=0,1"]
    for place, overrides in plan([*shared, *sweep], folder).items():
        train(overrides, place)
    for number, lr in enumerate((1e-4, 1e-3, 1e-2)):
        train(
            [*shared, f"optimizer.lr={lr}", "seed=7"], folder / "search" / "own" / "trials" / f"{number:04d}"
        )
    diverges = folder / "failed"
    attempt([*shared, "optimizer.lr=1e30"], diverges, sweep=True)
    damaged = folder / "damaged"
    train([*shared, "seed=5"], damaged)
    (damaged / "metrics.jsonl").write_text("{}\n")
    nasty = folder / "a" / NASTY.replace("/", "\N{DIVISION SLASH}")
    train([*shared, "seed=6", f'data_dir="{NASTY}"'], nasty)
    for name in ("stopped", "running"):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            patch.setattr(RunDirectory, "finish", _die)
            train([*shared, "seed=8"], folder / name)
    (folder / "stopped" / "log.txt").write_text("one\nepoch 2 of 3\n")


@pytest.fixture(scope="session")
def hundred(runs: Path) -> list[Record]:
    """As many runs and evaluations as the page promises to hold, each with the keys of a real one."""
    real = read_record(find_runs([runs / "spirals"])[0])

    def one(i: int) -> Record:
        curves: dict[str, list[float | None]] = {
            name: [round(1 + math.sin(i + j / 9), 4) for j in range(100)] for name in real.curves
        }
        curves["epoch"] = [*range(100)]
        keys = {**real.keys, "seed": i % 10, "optimizer.lr": 10.0 ** (i // 10 - 9)}
        return Record(f"{real.folder}-{i}", "done", None, real.command, keys, real.metrics, curves, None)

    return [one(i) for i in range(100)]


def _die(*arguments: object) -> None:
    raise Killed
