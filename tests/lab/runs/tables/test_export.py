"""Run folders become tables without losing a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ilc.errors import UserError
from lab.runs.tables.export import export_runs


def make_run(folder: Path, aggregator: str, seed: int, done: bool = True) -> None:
    folder.mkdir(parents=True)
    config = {"name": "spirals", "seed": seed, "aggregator": {"name": aggregator}, "optimizer": {"lr": 0.1}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "provenance.json").write_text(
        json.dumps({"command": "python src/train.py", "git_commit": "abc"})
    )
    lines = [json.dumps({"step": step, "test/accuracy": step / 10}) for step in (1, 2)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "summary.json").write_text(json.dumps({"step": 2, "test/accuracy": 0.2}))
    if done:
        (folder / "done").touch()


def test_a_row_per_run_and_a_row_per_evaluation(tmp_path: Path) -> None:
    for seed in (1, 0):
        make_run(tmp_path / f"deep/run{seed}", "mean", seed)
    make_run(tmp_path / "other", "and_mask", 0)
    runs, curves = export_runs([tmp_path], ["optimizer.lr"])
    assert list(zip(runs.aggregator, runs.seed, strict=True)) == [("and_mask", 0), ("mean", 0), ("mean", 1)]
    assert list(runs["optimizer.lr"]) == [0.1] * 3
    assert list(runs.command) == ["python src/train.py"] * 3
    assert len(curves) == 6
    assert list(curves["test/accuracy"][:2]) == [0.1, 0.2]


def test_a_column_that_a_run_has_no_value_for_is_empty(tmp_path: Path) -> None:
    make_run(tmp_path / "a", "mean", 0)
    make_run(tmp_path / "b", "and_mask", 0)
    config = yaml.safe_load((tmp_path / "b" / "config.yaml").read_text())
    config["aggregator"]["rescale"] = True
    (tmp_path / "b" / "config.yaml").write_text(yaml.safe_dump(config))
    runs, _ = export_runs([tmp_path], ["aggregator.rescale"])
    rescale = dict(zip(runs.aggregator, runs["aggregator.rescale"], strict=True))
    assert rescale["and_mask"] is True and rescale["mean"] is None


def test_an_unfinished_run_is_an_error_that_names_it(tmp_path: Path) -> None:
    make_run(tmp_path / "a", "mean", 0)
    make_run(tmp_path / "b", "mean", 1, done=False)
    with pytest.raises(UserError, match=str(tmp_path / "b")):
        export_runs([tmp_path])


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        export_runs([tmp_path])


def test_a_run_without_an_aggregator_has_a_method(tmp_path: Path) -> None:
    make_run(tmp_path / "a", "mean", 0)
    config = {"name": "toy", "seed": 1, "method": "taught"}
    (tmp_path / "a" / "config.yaml").write_text(yaml.safe_dump(config))
    for table in export_runs([tmp_path]):
        assert list(table.columns[:3]) == ["experiment", "method", "seed"]
        assert (table.method == "taught").all()


def test_a_run_that_several_folders_hold_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs" / "a", "mean", 0)
    monkeypatch.chdir(tmp_path)
    runs, curves = export_runs([Path("runs"), tmp_path / "runs" / "a"])
    assert (len(runs), len(curves)) == (1, 2)


def test_the_copy_that_wandb_keeps_is_no_run(tmp_path: Path) -> None:
    """``logger.mode=online`` leaves a ``config.yaml`` of W&B in the run folder."""
    run = tmp_path / "wandb" / "a"
    (tmp_path / "config.yaml").touch()  # Of something else: the runs lie in a folder called wandb.
    make_run(run, "mean", 0)
    (run / "wandb" / "run-1" / "files").mkdir(parents=True)
    (run / "wandb" / "run-1" / "files" / "config.yaml").write_text("wandb_version: 1")
    assert len(export_runs([tmp_path / "wandb"])[0]) == 1
