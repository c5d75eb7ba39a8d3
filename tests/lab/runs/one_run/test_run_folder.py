"""The run folder is what the contract says, for a run alone and in a sweep."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from lab.configuration.compose import compose_experiment
from lab.files.locked import lock
from lab.runs.one_run import provenance
from lab.runs.one_run.run_options import RunOptions

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, root: Path, tiny: tuple[str, ...]) -> Path:
    folder = tmp_path_factory.mktemp("run")
    import sys

    command = [
        sys.executable,
        str(root / "src" / "train.py"),
        *tiny,
        "seed=0",
        f"hydra.run.dir={folder / 'x'}",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1] == str(folder / "x")
    assert not done.stderr
    return folder / "x"


def test_files_of_the_contract(finished: Path) -> None:
    files = {path.name for path in finished.iterdir()}
    assert files == {
        "config.yaml",
        "provenance.json",
        "metrics.jsonl",
        "summary.json",
        "curves.png",
        "checkpoint.pt",
        "done",
    }


def test_metrics(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert [line["step"] for line in lines] == [2, 4, 6]
    keys = {
        "step",
        "epoch",
        "train/loss",
        "train/accuracy",
        "test/loss",
        "test/accuracy",
        "mask/density",
        "epoch/risk",
    }
    assert all(line.keys() == keys for line in lines)
    assert all(math.isfinite(value) for line in lines for value in line.values())


def test_summary_holds_the_last_metrics(finished: Path) -> None:
    last = json.loads((finished / "metrics.jsonl").read_text().splitlines()[-1])
    summary = json.loads((finished / "summary.json").read_text())
    assert {key: summary[key] for key in last} == last
    assert summary["wall_seconds"] > 0
    assert summary["peak_memory_mb"] > 10
    assert summary["data_source"] == "synthetic spirals"


def test_config_is_resolved(finished: Path) -> None:
    text = (finished / "config.yaml").read_text()
    assert "${" not in text
    config = yaml.safe_load(text)
    assert config["seed"] == 0
    assert config["dataset"]["n_environments"] == 4


def test_provenance(finished: Path) -> None:
    written = json.loads((finished / "provenance.json").read_text())
    assert written["command"].startswith("python src/train.py dataset.n_environments=4")
    assert written["versions"]["torch"] == torch.__version__
    assert len(written["data_sha256"]) == 64
    assert {"git_commit", "git_dirty", "device", "seed", "data_source"} <= written.keys()


def test_checkpoint_loads_without_running_code(finished: Path) -> None:
    state = torch.load(finished / "checkpoint.pt", weights_only=True)
    assert {"model", "optimizer", "aggregator", "sampler", "random"} <= state.keys()
    assert state["random"].keys() == {"torch", "cuda", "numpy", "python"}


def test_a_finished_run_is_left_alone(finished: Path, train: TrainCommand, tiny: tuple[str, ...]) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.iterdir()}
    again = train(*tiny, "seed=0", f"hydra.run.dir={finished}")
    assert again.returncode == 0
    assert "done already" in again.stdout
    assert again.stdout.splitlines()[-1] == str(finished)
    assert {path: path.stat().st_mtime_ns for path in finished.iterdir()} == before


@pytest.mark.slow
def test_the_same_command_gives_the_same_numbers_to_the_last_bit(
    finished: Path, train_apart: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """Also from another folder and with other choices that are not the experiment."""
    assert (
        train_apart(*tiny, "seed=0", f"hydra.run.dir={tmp_path / 'y'}", "data_dir=elsewhere").returncode == 0
    )
    assert (tmp_path / "y" / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()
    other = train_apart(*tiny, "seed=1", f"hydra.run.dir={tmp_path / 'z'}")
    assert other.returncode == 0
    assert (tmp_path / "z" / "metrics.jsonl").read_bytes() != (finished / "metrics.jsonl").read_bytes()


def test_vectorized_and_sequential_train_alike(
    finished: Path, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    assert train(*tiny, "gradients=sequential", f"hydra.run.dir={tmp_path / 'y'}").returncode == 0
    ours, theirs = (
        [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (finished, tmp_path / "y")
    )
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=1e-3)


def test_a_sweep_runs_once_what_an_option_does_not_reach_and_skips_what_is_done(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    sweep = ("-m", *tiny, "aggregator=mean,and_mask", "aggregator.agreement_threshold=0.2,0.9", "seed=0")
    first = train(*sweep)
    assert first.returncode == 0, first.stderr
    runs = sorted(path.parent.name.split("-seed0")[0] for path in tmp_path.glob("outputs/spirals/*/done"))
    assert runs == ["and_mask", "and_mask", "mean"]
    assert "done already" not in first.stdout
    second = train(*sweep)
    assert second.returncode == 0
    assert second.stdout.count("done already") == 3


def test_one_failing_run_does_not_stop_a_sweep(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    done = train("-m", *tiny, "optimizer.lr=1e30,1e-3")
    assert done.returncode == 1
    assert "training diverged" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(list(tmp_path.glob("outputs/spirals/*/done"))) == 1


def test_the_papers_stopping_rule(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    options = (
        "dataset.shortcut_variance=5",
        "optimizer.lr=1e-2",
        "trainer.max_epochs=60",
        "dataset.n_test=400",
    )
    done = train(*tiny, *options, "aggregator=mean", f"hydra.run.dir={tmp_path / 'x'}")
    assert done.returncode == 0
    summary = json.loads((tmp_path / "x" / "summary.json").read_text())
    assert summary["stopped"] == "memorised"
    assert summary["epoch"] < 60
    assert summary["train/accuracy"] > 0.97
    assert summary["test/accuracy"] < 0.6


@pytest.mark.parametrize(("options", "epoch"), [(("optimizer.lr=1e-9",), 5), (("optimizer.lr=1e-2",), 10)])
def test_a_run_at_chance_is_given_up_half_way(
    options: tuple[str, ...], epoch: int, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """A run that learns the shortcuts goes on to its end."""
    shared = ("aggregator=mean", "trainer.max_epochs=10", "trainer.stop_when_memorised=false")
    rule = ("dataset.shortcut_variance=5", "trainer.stop_below=0.8")
    done = train(*tiny, *shared, *rule, *options, f"hydra.run.dir={tmp_path / 'x'}")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "x" / "summary.json").read_text())
    assert (summary["epoch"], summary["stopped"]) == (epoch, "hopeless" if epoch == 5 else "completed")


@pytest.mark.slow
def test_wandb_is_offline_by_default_and_closed_after_a_failure(
    train_apart: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    options = [option for option in tiny if option != "logger=none"]
    homeless = {key: value for key, value in os.environ.items() if key not in ("HOME", "HYDRA_FULL_ERROR")}
    done = train_apart("-m", *options, "trainer.max_epochs=2", "optimizer.lr=1e30,1e-3", env=homeless)
    assert "training diverged" in done.stderr
    # W&B's service has nothing to say where there is no home.
    assert len(done.stderr.splitlines()) == 2, done.stderr
    mirrored = list(tmp_path.glob("outputs/spirals/*/wandb/offline-run-*/run-*.wandb"))
    assert len(mirrored) == 2, done.stderr
    assert len(list(tmp_path.glob("outputs/spirals/*/done"))) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device can be used here")
def test_cuda_gives_the_same_experiment(
    finished: Path, train_apart: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    options = [option for option in tiny if not option.startswith("device")]
    done = train_apart(*options, "device=cuda", "seed=0", f"hydra.run.dir={tmp_path / 'x'}")
    assert done.returncode == 0, done.stderr
    for ours, theirs in zip(
        (tmp_path / "x" / "metrics.jsonl").read_text().splitlines(),
        (finished / "metrics.jsonl").read_text().splitlines(),
        strict=True,
    ):
        assert json.loads(ours) == pytest.approx(json.loads(theirs), rel=2e-2)
    again = train_apart(*options, "device=cuda", "seed=0", f"hydra.run.dir={tmp_path / 'y'}")
    assert again.returncode == 0
    assert (tmp_path / "y" / "metrics.jsonl").read_bytes() == (tmp_path / "x" / "metrics.jsonl").read_bytes()


def test_a_second_process_is_refused(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    descriptor = lock(tmp_path / "x")
    assert descriptor is not None
    refused = train(*tiny, "hydra.run.dir=x")
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: another process is training in ")
    assert not list((tmp_path / "x").iterdir())
    os.close(descriptor)
    assert train(*tiny, "hydra.run.dir=x").returncode == 0


@pytest.mark.parametrize(("changes", "dirty"), [("", False), (" M file", True), (None, None)])
def test_what_git_does_not_say_is_not_called_clean(
    changes: str | None, dirty: bool | None, monkeypatch: pytest.MonkeyPatch, tiny: tuple[str, ...]
) -> None:
    """``git status`` may take too long, or need a lock."""
    monkeypatch.setattr(
        provenance, "_git", lambda *arguments: changes if arguments[0] == "status" else "0" * 40
    )
    options = RunOptions.of(compose_experiment(tiny))
    assert provenance.provenance("command", options, torch.device("cpu"), {})["git_dirty"] is dirty
