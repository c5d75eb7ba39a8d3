"""aggregator=temporal_mask in a run: optimizer and sampler chosen together, continued bit for bit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ilc.errors import UserError
from ilc.optim import CautiousAdam
from lab.environment_task.methods import TemporalMask
from lab.runs.one_run import run_directory

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]
TEMPORAL = (
    "aggregator=temporal_mask",
    "optimizer=adam",
    "aggregator.agreement_threshold=0.3",
    "trainer.max_epochs=6",
    "trainer.stop_when_memorised=false",
)


def metrics_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_spirals_with_the_temporal_mask(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = train(*tiny, *TEMPORAL, f"hydra.run.dir={folder}")
    assert done.returncode == 0, done.stderr
    metrics = metrics_of(folder)
    assert metrics[-1]["step"] == 6 * 4  # One step per environment and epoch.
    assert all(0 < row["mask/density"] < 1 for row in metrics[1:])
    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    assert "sign_average" in state["optimizer"]["state"][0]


def test_an_interrupted_run_ends_with_the_same_numbers(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    assert train(*tiny, *TEMPORAL, f"hydra.run.dir={whole}").returncode == 0
    save = run_directory.RunDirectory.save_checkpoint

    def save_then_die(self: run_directory.RunDirectory, state: dict[str, object], *others: object) -> None:
        save(self, state, *others)
        if state["epoch"] == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_directory.RunDirectory, "save_checkpoint", save_then_die)
        assert train(*tiny, *TEMPORAL, f"hydra.run.dir={halved}").returncode == 130
    assert len(metrics_of(halved)) == 3
    assert train(*tiny, *TEMPORAL, f"hydra.run.dir={halved}").returncode == 0
    assert metrics_of(halved) == metrics_of(whole)


def test_threshold_0_in_pytorchs_form_is_the_mean_with_adam(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    # Everything that conf/tuned sets for the mean on the spirals, so that nothing else differs.
    common = (
        "optimizer=adam",
        "optimizer.lr=0.01",
        "optimizer.l1=0",
        "optimizer.weight_decay=0.1",
        "optimizer.decoupled=true",
    )
    masked = ("aggregator=temporal_mask", "aggregator.agreement_threshold=0", "aggregator.pytorch_form=true")
    plain = ("aggregator=mean", "+dataset.batches=one_environment")
    risks = []
    for name, options in (("masked", masked), ("plain", plain)):
        done = train(*tiny, *options, *common, f"hydra.run.dir={tmp_path / name}")
        assert done.returncode == 0, done.stderr
        risks.append([row["train/loss"] for row in metrics_of(tmp_path / name)])
    assert risks[0] == pytest.approx(risks[1], rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["aggregator=temporal_mask", "optimizer=sgd"], "takes its lr and betas from optimizer=adam"),
        (
            ["aggregator=temporal_mask", "+dataset.batches=every_environment"],
            "dataset.batches=one_environment",
        ),
        (["aggregator=temporal_mask", "gradients=per_example"], "take gradients=sequential"),
        (["aggregator=and_mask", "+dataset.batches=one_environment"], "take aggregator=temporal_mask"),
        (
            ["aggregator=and_mask", "+dataset.batches=any_environment"],
            "needs the environment of every example",
        ),
        (["aggregator=mean", "+dataset.batches=some"], "dataset.batches must be one of"),
        (["aggregator=temporal_mask", "aggregator.beta_3=1.0"], "betas must be three numbers"),
        (["aggregator=temporal_mask", "aggregator.rescale=true"], "has no option 'rescale'"),
    ],
)
def test_what_makes_no_sense_is_said(
    options: list[str], message: str, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    done = train(*tiny, *options, f"hydra.run.dir={tmp_path / 'run'}")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_rate_and_betas_are_those_of_the_configured_adam() -> None:
    parameters = [torch.zeros(2, requires_grad=True)]
    configured = torch.optim.Adam(parameters, 0.02, (0.5, 0.9))
    made = TemporalMask(0.3, 0.7, eps=1e-4).optimizer(parameters, configured)
    (group,) = made.param_groups
    assert (group["lr"], group["betas"], group["eps"]) == (0.02, (0.5, 0.9, 0.7), 1e-4)
    assert group["agreement_threshold"] == 0.3


def test_a_cautious_adam_is_not_taken_for_an_adam() -> None:
    parameters = [torch.zeros(2, requires_grad=True)]
    method = TemporalMask(0.3, 0.7)
    method.name = "temporal_mask"
    with pytest.raises(UserError, match="got CautiousAdam: choose optimizer=adam"):
        method.optimizer(parameters, CautiousAdam(parameters))
