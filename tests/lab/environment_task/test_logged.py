"""What the steps of an epoch know is in the metrics."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import load_run

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


def metrics_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_risk_penalty_and_kept_share(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    done = train(*tiny, "aggregator=irm_penalty", f"hydra.run.dir={tmp_path / 'run'}")
    assert done.returncode == 0, done.stderr
    for line in metrics_of(tmp_path / "run"):
        assert line["epoch/risk"] > 0
        assert line["epoch/penalty"] >= 0
        assert line["mask/density"] == 1


def test_kept_share_by_parameter_on_request(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    asked = ("aggregator.agreement_threshold=1", "trainer.kept_share_by_parameter=true")
    assert train(*tiny, *asked, f"hydra.run.dir={tmp_path / 'run'}").returncode == 0
    folder = tmp_path / "run"
    sizes = {name: p.numel() for name, p in load_run(folder).model.named_parameters()}
    for line in metrics_of(folder):
        shares = {name: line[f"mask/density/{name}"] for name in sizes}
        kept = sum(share * sizes[name] for name, share in shares.items())
        assert kept / sum(sizes.values()) == pytest.approx(line["mask/density"], abs=1e-6)


def test_a_run_ends_at_the_risk_that_is_asked_for(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    rule = ("trainer.stop_at_loss=0.5", "trainer.max_epochs=60", "dataset.shortcut_variance=5")
    options = ("aggregator=mean", "trainer.stop_when_memorised=false", "optimizer.lr=1e-3", *rule)
    assert train(*tiny, *options, f"hydra.run.dir={tmp_path / 'run'}").returncode == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    lines = metrics_of(tmp_path / "run")
    assert summary["stopped"] == "converged"
    assert lines[-1]["train/loss"] <= 0.5
    assert [line.get("converged") for line in lines] == [None] * (len(lines) - 1) + [1]
