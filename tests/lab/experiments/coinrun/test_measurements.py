"""The frames of figure 17 are repeatable, and students of finished runs are played."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ilc.errors import UserError
from lab.experiments.coinrun.expert import load_expert
from lab.experiments.coinrun.expert_options import ExpertOptions
from lab.experiments.coinrun.levels import UNSEEN
from lab.experiments.coinrun.measurements import expert as expert_measurement
from lab.experiments.coinrun.measurements import levels, students


def test_the_committed_frames_are_those_of_the_game(root: Path, tmp_path: Path) -> None:
    (part,) = levels.parts().values()
    (tmp_path / "levels.npz").write_bytes(part()["coinrun/levels.npz"])  # type: ignore[arg-type]
    again, committed = np.load(tmp_path / "levels.npz"), np.load(root / "results" / "coinrun" / "levels.npz")
    assert set(again) == set(committed) == {"levels", "easy", "hard"}
    for name in again:
        np.testing.assert_array_equal(again[name], committed[name])


class _LikeTheExpert(torch.nn.Module):
    """A student that has learned everything: the logarithm of the expert's probabilities."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return load_expert().network.distribution(frames).log()


def _finished(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    run = SimpleNamespace(config={"name": name}, model=_LikeTheExpert())
    monkeypatch.setattr("lab.load_run", lambda folder: run, raising=False)
    (folder / "done").touch()
    return folder


@pytest.mark.slow
def test_a_student_like_the_expert_solves_what_the_expert_solves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = students.parts([str(_finished(tmp_path, "coinrun_bc", monkeypatch))], levels=20)
    expert, student = (part()["coinrun/unseen_levels.csv"].iloc[0] for part in parts.values())
    assert (expert.player, student.player) == ("expert", str(tmp_path))
    assert expert.levels == 20
    assert expert.first_level == UNSEEN.start
    assert student.mean_return == expert.mean_return == 10 * expert.success_rate > 0


def test_other_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="not the folder of a finished run"):
        students.student(tmp_path)
    with pytest.raises(UserError, match="does not play CoinRun"):
        students.student(_finished(tmp_path, "spirals", monkeypatch))
    with pytest.raises(UserError, match="levels must be at least 1, got 0"):
        students.parts([], levels=0)


def test_the_curves_are_those_of_the_experts_own_training(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings are those of the file, the folder is that of ``scripts/train_expert.py``."""
    pytest.importorskip("stable_baselines3")
    names = ("curve.csv", "unseen.csv")

    def train_expert(options: ExpertOptions, folder: Path, device: torch.device) -> None:
        assert (options.mode, options.gamma, options.blocks) == ("hard", 0.99, 1)
        assert folder.resolve() == tmp_path / "outputs" / "expert" / "hard"
        # The snapshot is in place before training begins.
        assert (folder / "checkpoint.pt").exists()
        for name in names:
            (folder / name).write_text(name)

    shutil.copytree(root / "conf" / "expert", tmp_path / "conf" / "expert")
    kept = tmp_path / "results" / "coinrun" / "expert_hard"
    kept.mkdir(parents=True)
    (kept / "checkpoint.pt").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lab.experiments.coinrun.expert_training.train_expert", train_expert)
    monkeypatch.setattr(expert_measurement, "ROOT", tmp_path)
    (part,) = expert_measurement.parts().values()
    assert part() == {f"coinrun/expert_hard/{name}": name.encode() for name in names}
