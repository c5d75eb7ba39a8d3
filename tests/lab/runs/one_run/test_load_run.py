"""``lab.load_run``: config, data and trained model of a run in one call."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import lab
from ilc.errors import UserError
from ilc.objectives import RISKS
from lab.environment_task.evaluation import evaluate

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def finished(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    assert train(*tiny, f"hydra.run.dir={folder}").returncode == 0
    return folder


def test_a_finished_run(finished: Path) -> None:
    run = lab.load_run(finished)
    assert run.config["dataset"]["n_environments"] == 4
    assert run.summary == json.loads((finished / "summary.json").read_text())
    assert [line["epoch"] for line in run.metrics] == [1, 2, 3]
    assert not run.model.training
    # The model is the trained one and the data that which it was trained on: they give the run's numbers.
    again = evaluate(run.model, run.data.pooled(), RISKS["cross_entropy"])
    assert again["loss"] == run.metrics[-1]["train/loss"]


def test_an_interrupted_run(finished: Path) -> None:
    for name in ("done", "summary.json"):
        (finished / name).unlink()
    run = lab.load_run(str(finished))
    assert run.summary is None
    assert run.task.step == run.metrics[-1]["step"]


def test_random_numbers_stay_as_they_were(finished: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    lab.load_run(finished)
    assert torch.equal(torch.rand(2), expected)


def test_what_is_no_run(finished: Path, tmp_path: Path) -> None:
    nothing: Any = None
    with pytest.raises(UserError, match="must be the path of a run folder, got None"):
        lab.load_run(nothing)
    with pytest.raises(UserError, match="is not a run folder"):
        lab.load_run(tmp_path / "nothing")
    for name in ("checkpoint.pt", "done"):
        (finished / name).unlink()
    with pytest.raises(UserError, match="has no checkpoint yet"):
        lab.load_run(finished)


def test_the_model_has_the_weights_that_were_selected(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """With such a learning rate accuracy rises and falls, and the best evaluation is not the last."""
    folder = tmp_path / "selected"
    rule = ("aggregator=mean", "optimizer.lr=0.3", "trainer.max_epochs=8", "trainer.selection=test_oracle")
    command = (*tiny, *rule, "trainer.stop_when_memorised=false", f"hydra.run.dir={folder}")
    assert train(*command).returncode == 0
    run = lab.load_run(folder)
    assert run.summary is not None
    assert run.summary["step"] < run.metrics[-1]["step"] == run.task.step
    test = run.data.evaluation["test"]
    assert evaluate(run.model, test, RISKS["cross_entropy"])["loss"] == run.summary["test/loss"]
    (folder / "selected.pt").unlink()
    words = r"selected\.pt does not have the weights of step \d+, which trainer\.selection chose"
    with pytest.raises(UserError, match=words):
        lab.load_run(folder)


@pytest.mark.parametrize("device", ["tpu", "mps", "", None, "cuda:99"])
def test_a_device_that_is_not_there_is_named(device: str, finished: Path) -> None:
    with pytest.raises(UserError, match=r"^device(=| must be one of auto, cpu, cuda or cuda:NUMBER, got)"):
        lab.load_run(finished, device=device)


def test_the_device_may_be_chosen_as_a_run_does(finished: Path) -> None:
    model = lab.load_run(finished, device="auto").model
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert {p.device.type for p in model.parameters()} == {expected}


def test_a_run_that_is_done_is_not_told_to_train_on(finished: Path) -> None:
    """Its command would do nothing, so the checkpoint would not come back."""
    (finished / "checkpoint.pt").unlink()
    with pytest.raises(UserError, match=rf"checkpoint.pt is missing: put back a copy, or remove {finished}"):
        lab.load_run(finished)


def test_the_config_of_another_version_is_named(finished: Path) -> None:
    (finished / "done").unlink()
    path = finished / "config.yaml"
    path.write_text(path.read_text() + "an_old_key: 1\n")
    with pytest.raises(UserError, match=rf"{path} does not fit this version .*unknown key 'an_old_key'"):
        lab.load_run(finished)
