"""Every neighbour trains an experiment, and continues after a stop with the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.environment_task import EnvironmentTask
from lab.runs.one_run.run_options import RunOptions

TINY = (
    "experiment=spirals",
    "dataset.n_environments=4",
    "dataset.examples_per_environment=16",
    "dataset.batch_size=8",
    "dataset.n_test=10",
    "dataset.shortcut_dimensions=3",
    "model.hidden_units=8",
    "model.hidden_layers=1",
    "logger=none",
    "device=cpu",
    "~tuned",
)
NEIGHBOURS = {
    **{
        name: (f"aggregator={name}",)
        for name in (
            "sand_mask",
            "sign_election",
            "grad_drop",
            "agreement_sum",
            "agreement_random",
            "v_rex",
            "group_dro",
            "eqrm",
            "iga",
            "late_v_rex",
            "mmd",
            "coral",
            "mixup",
            "mldg",
            "rsc",
        )
    },
    "gram_weights": ("aggregator=gram_weights", "aggregator.kind=MGDA"),
    "krum": ("aggregator=gram_weights", "aggregator.kind=Krum", "aggregator.options={n_byzantine:1}"),
    # Of four environments at the start no direction has all signs alike.
    "gram_agreement": ("aggregator=gram_agreement", "aggregator.agreement_threshold=0.5"),
    "layer_agreement": ("aggregator=layer_agreement", "aggregator.agreement_threshold=0.5"),
    "fishr": ("aggregator=fishr", "gradients=sequential"),
    "cautious": ("aggregator=and_mask", "optimizer=cautious_adam"),
}


def task_of(*overrides: str) -> EnvironmentTask:
    content: dict[str, Any] = compose_experiment([*TINY, *overrides])
    task = RunOptions.of(content).build_task(torch.device("cpu"))
    assert isinstance(task, EnvironmentTask)
    return task


@pytest.mark.slow
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_neighbour_learns_and_continues_with_the_same_numbers(name: str, tmp_path: Path) -> None:
    if name == "gram_weights":
        pytest.importorskip("torchjd")
    whole = task_of(*NEIGHBOURS[name])
    before = [p.detach().clone() for p in whole.model.parameters()]
    whole.train_epoch()
    assert any(not torch.equal(p, start) for p, start in zip(whole.model.parameters(), before, strict=True))
    torch.save(whole.state_dict(), tmp_path / "state.pt")
    random = torch.get_rng_state()
    expected = {**whole.train_epoch(), **whole.evaluate()}
    again = task_of(*NEIGHBOURS[name])
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    torch.set_rng_state(random)
    assert {**again.train_epoch(), **again.evaluate()} == expected
    assert 0 <= expected["mask/density"] <= 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("aggregator=fishr",), "aggregator=fishr needs gradients=sequential"),
        (("aggregator=v_rex", "gradients=per_example"), "compares environments"),
        (("aggregator=iga", "+dataset.batches=one_environment"), "compares the environments of one batch"),
        (
            ("aggregator=temporal_mask", "optimizer=cautious_adam"),
            "takes its lr and betas from optimizer=adam",
        ),
        (("aggregator=grad_drop", "+aggregator.seed=3"), "always equals the run's own seed"),
    ],
)
def test_what_makes_no_sense_is_refused(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        task_of(*overrides)


def test_random_neighbours_follow_the_seed() -> None:
    weights = []
    for seed in (0, 1, 0):
        task = task_of("aggregator=grad_drop", f"seed={seed}")
        task.train_epoch()
        weights.append(torch.cat([p.detach().flatten() for p in task.model.parameters()]))
    assert torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[1])
