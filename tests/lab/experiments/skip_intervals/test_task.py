"""The task: learns, shows, is stopped and continued, refuses what makes no sense."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.experiments.skip_intervals.task import SkipIntervalsTask
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.runner import run

TINY = [
    "experiment=skip_intervals",
    "dataset=room_runner",
    "dataset.n_train=30",
    "dataset.n_validation=12",
    "simulator.kernels=4",
    "steps_per_epoch=4",
    "trainer.max_epochs=4",
    "stages.shares=[0.5,0.5]",
    "stages.calls=[1,3]",
    "stages.batch_sizes=[4,3]",
    "stages.lr=[1e-3,1e-3]",
    "exploration.share=0.3",
    "sampling.start=0.5",
    "sampling.length=0.2",
    "device=cpu",
    "logger=none",
]


def content_of(data_dir: Path, *overrides: str) -> dict[str, Any]:
    return compose_experiment([*TINY, f"data_dir={data_dir}", *overrides])


def task_of(data_dir: Path, *overrides: str) -> SkipIntervalsTask:
    torch.manual_seed(0)
    task = RunOptions.of(content_of(data_dir, *overrides)).build_task(torch.device("cpu"))
    assert isinstance(task, SkipIntervalsTask)
    return task


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.mark.parametrize(
    "method", ["adaptive", "adaptive_without_exploration", "fixed_1", "fixed_2", "fixed_3"]
)
def test_every_method_learns_and_measures(method: str, data_dir: Path) -> None:
    task = task_of(data_dir, f"method={method}")
    before = [p.detach().clone() for p in task.model.parameters()]
    seen = task.train_epoch()
    assert any(not torch.equal(p, old) for p, old in zip(task.model.parameters(), before, strict=True))
    assert seen["train/model_evaluations"] == 16
    measured = task.evaluate()
    assert 0 <= measured["validation/accuracy"] <= 1
    assert measured["validation/accuracy_soft"] >= measured["validation/accuracy"] * 0.5
    ahead = float((task.validation.lengths - 1).float().mean())
    product = measured["validation/model_evaluations"] * measured["validation/mean_skip"]
    assert product == pytest.approx(ahead, rel=1e-5)
    if method.startswith("fixed"):
        assert seen["train/mean_skip"] <= int(method[-1])


@pytest.fixture(scope="module")
def whole(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing stopped."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    run(content_of(data_dir), folder, "")
    return folder


@pytest.mark.parametrize("step", [2, 6, 8, 13])
def test_a_run_that_was_killed_anywhere_continues_with_the_same_numbers(
    step: int, whole: Path, data_dir: Path, tmp_path: Path
) -> None:
    """Before the first checkpoint, within an epoch, where a stage begins, and within the last epoch."""
    content = content_of(data_dir)
    killed, windows = tmp_path / "killed", SkipIntervalsTask._windows

    def dies(self: SkipIntervalsTask, *arguments: Any) -> Any:
        if self.step == step:
            raise KeyboardInterrupt
        return windows(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SkipIntervalsTask, "_windows", dies)
        with pytest.raises(KeyboardInterrupt):
            run(content, killed, "")
    torch.rand(7)  # Random numbers come from the checkpoint, not from before.
    run(content, killed, "")
    assert (killed / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    weights = [torch.load(f / "checkpoint.pt", weights_only=True)["model"] for f in (whole, killed)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    summaries = [json.loads((f / "summary.json").read_text()) for f in (whole, killed)]
    numbers = [{key: s[key] for key in s if "/" in key} for s in summaries]
    assert numbers[0] == numbers[1]
    assert "shortcut/room nearest the runner" in numbers[0]
    assert numbers[0]["best/validation/accuracy"] >= numbers[0]["validation/accuracy"]


def test_the_run_folder_has_a_picture_of_rollouts(data_dir: Path, tmp_path: Path) -> None:
    run(content_of(data_dir, "trainer.max_epochs=1"), tmp_path / "run", "")
    picture = Image.open(io.BytesIO((tmp_path / "run" / "rollouts.png").read_bytes()))
    assert picture.mode == "RGB"
    task = task_of(data_dir)
    task.evaluate()
    shown = Image.open(io.BytesIO(task.pictures()["rollouts"]))
    # Six pairs of rows; the first column is the same in both, and is the true first frame.
    assert shown.height > 12 * 80
    pixels = torch.from_numpy(np.array(shown.crop((2, 2, 82, 82))))[::4, ::4]
    assert torch.equal(pixels.permute(2, 0, 1), 255 * task.validation.frames[0])


def test_an_infinite_loss_is_a_message(data_dir: Path) -> None:
    task = task_of(data_dir, "stages.lr=[1e30,1e30]", "optimizer.warm_up=0")
    with pytest.raises(UserError, match=r"not finite.*stages\.lr"):
        for _ in range(3):
            task.train_epoch()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["method=fixed"], "method must be adaptive"),
        (["horizon=0"], "horizon"),
        (["steps_per_epoch=0"], "steps_per_epoch"),
        (["simulator.architecture=wide"], "architecture"),
        (["stages.shares=[1.0]"], "lists of equal length"),
        (["optimizer.clip=0"], "clip"),
        (["exploration.share=2"], "exploration"),
        (["sampling.kind=cosine"], "sampling"),
    ],
)
def test_what_makes_no_sense_is_refused(overrides: list[str], message: str, data_dir: Path) -> None:
    with pytest.raises(UserError, match=message):
        task_of(data_dir, *overrides)


def test_wandb_gets_the_picture_of_every_evaluation(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[dict[str, Any]] = []

    def size_of(path: str) -> int:
        return Path(path).stat().st_size

    made = SimpleNamespace(
        log=lambda values, step, commit: logged.append(values),
        define_metric=lambda name, step_metric: None,
        finish=lambda exit_code: None,
        summary={},
    )
    fake = SimpleNamespace(init=lambda **_: made, Settings=lambda **_: None, Image=size_of)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    content = content_of(data_dir, "trainer.max_epochs=2")
    run({**content, "logger": {"name": "wandb", "project": "p"}}, tmp_path / "run", "")
    assert [values["step"] for values in logged] == [4, 8]
    assert all(values["rollouts"] > 1000 for values in logged)


def test_perturbed_trajectories_come_first_where_asked(data_dir: Path) -> None:
    with pytest.raises(UserError, match=r"perturbed_share needs .*dataset\.perturbed=true"):
        task_of(data_dir, "perturbed_share=0.5")
    pytest.importorskip("pymunk")
    options = [
        "dataset=funnel_board",
        "dataset.n_train=6",
        "dataset.n_validation=3",
        "dataset.perturbed=true",
    ]
    task = task_of(data_dir, *options, "perturbed_share=0.25")
    plain = task_of(data_dir, *options)
    assert task.train_epoch()["train/loss"] != plain.train_epoch()["train/loss"]
    assert task.perturbed is not task.training
    assert plain.evaluate().keys() == task.evaluate().keys()
