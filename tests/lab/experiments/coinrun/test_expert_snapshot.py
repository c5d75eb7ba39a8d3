"""A checkpoint of the expert in half precision: half as large, and training continues from it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
import torch

from ilc.errors import UserError
from lab.experiments.coinrun.expert_options import ExpertOptions
from lab.experiments.coinrun.expert_snapshot import restore_snapshot, take_snapshot
from lab.experiments.coinrun.expert_training import train_expert
from lab.files.sealed import save_sealed

CPU = torch.device("cpu")


@pytest.fixture
def options(options: ExpertOptions) -> ExpertOptions:
    return dataclasses.replace(options, mode="hard", width=8, features=64, blocks=1, bfloat16=True)


def test_training_continues_from_a_snapshot_in_a_new_folder(tmp_path: Path, options: ExpertOptions) -> None:
    run, kept, new = tmp_path / "run", tmp_path / "kept", tmp_path / "new"
    run.mkdir()
    network, frames = train_expert(options, run, CPU)
    (run / "unseen.csv").write_text("policy,frames\nrandom play,0\n")
    assert take_snapshot(run, kept) == frames
    assert (kept / "checkpoint.pt").stat().st_size < 0.7 * (run / "checkpoint.pt").stat().st_size
    assert restore_snapshot(kept, new)
    assert (new / "unseen.csv").read_text() == (run / "unseen.csv").read_text()
    same, _ = train_expert(options, new, CPU)  # Nothing is left to do.
    for a, b in zip(network.parameters(), same.parameters(), strict=True):
        torch.testing.assert_close(b, a, rtol=1e-3, atol=1e-6)
        assert b.dtype == torch.float32
    _, more = train_expert(dataclasses.replace(options, frames=2 * frames), new, CPU)
    assert more == 2 * frames
    curve = pd.read_csv(new / "curve.csv")["frames"]
    assert curve.is_unique
    assert curve.iloc[0] < frames < curve.iloc[-1] == more
    # The optimizer went on counting, in full precision.
    optimizer = torch.load(new / "checkpoint.pt", weights_only=True)["optimizer"]["state"]
    before = torch.load(kept / "checkpoint.pt", weights_only=True)["optimizer"]["state"]
    assert optimizer[0]["step"] == 2 * before[0]["step"] > 0
    assert optimizer[0]["exp_avg_sq"].dtype == torch.float32


def test_small_squares_survive_half_precision(tmp_path: Path) -> None:
    run, kept = tmp_path / "run", tmp_path / "kept"
    run.mkdir()
    squares = torch.tensor([1e-12, 1e-3])
    state = {
        "policy": {"weight": torch.ones(2)},
        "optimizer": {"state": {0: {"step": torch.tensor(70_001.0), "exp_avg_sq": squares}}},
        "frames": 5,
    }
    save_sealed(run / "checkpoint.pt", state)
    (run / "curve.csv").write_text("frames\n5\n")
    take_snapshot(run, kept)
    moments = torch.load(kept / "checkpoint.pt", weights_only=True)["optimizer"]["state"][0]
    torch.testing.assert_close(moments["exp_avg_sq"].float(), squares, rtol=0.01, atol=0.0)
    assert moments["step"] == 70_001


def test_a_run_of_its_own_is_not_overwritten(tmp_path: Path) -> None:
    for name in ("kept", "run"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "checkpoint.pt").write_text(name)
        (tmp_path / name / "curve.csv").write_text(name)
    assert not restore_snapshot(tmp_path / "kept", tmp_path / "run")
    assert (tmp_path / "run" / "checkpoint.pt").read_text() == "run"
    assert not restore_snapshot(tmp_path / "nowhere", tmp_path / "new")


def test_a_run_without_a_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checkpoint of an expert yet"):
        take_snapshot(tmp_path, tmp_path / "kept")
