"""The options of a run are DomainBed's draws, its steps as many, and each method trains."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lab.configuration.compose import compose_config, compose_experiment, compose_run
from lab.configuration.resolve import resolve, run_name
from lab.environment_task import EnvironmentTask
from lab.experiments.drawn_trials import METHODS
from lab.runs.one_run.run_options import RunOptions
from lab.runs.study.study_file import load_study

DRAWS: dict[str, tuple[int, dict[str, float]]] = {
    "irm_penalty": (1, {"penalty_weight": 65030.52212762795, "schedule_steps": 2}),
    "late_v_rex": (47, {"penalty_weight": 85202.47484968134, "schedule_steps": 14}),
    "group_dro": (39, {"step_size": 0.01722120119185084}),
    "iga": (1, {"penalty_weight": 2400.017030810722}),
    "and_mask": (39, {"agreement_threshold": 0.9216564941313279}),
    "sand_mask": (47, {"agreement_threshold": 0.9961974324307739, "steepness": 0.0046888144970656095}),
    "fishr": (1, {"penalty_weight": 809.251247284292, "schedule_steps": 4072, "memory": 0.9129082782560279}),
    "mmd": (47, {"penalty_weight": 5.730241265395327}),
    "coral": (39, {"penalty_weight": 2.5775848800183794}),
    "mixup": (1, {"alpha": 0.1}),
    "mldg": (39, {"beta": 3.34972954687112}),
    "rsc": (1, {"feature_share": 0.4041248591083744, "example_share": 0.2581555339499306}),
}
"""Seed of the run, and what ``random_hparams`` of m-Just/DomainBed (c8cb6d5) gave for its draw and trial."""


def content_of(*overrides: str) -> dict[str, Any]:
    return compose_experiment(["experiment=ood_bench", "logger=none", *overrides])


@pytest.mark.parametrize("name", DRAWS)
def test_options_are_domainbeds(name: str) -> None:
    seed, expected = DRAWS[name]
    content = content_of(f"aggregator={name}", f"seed={seed}")
    found = {key: content["aggregator"][key] for key in expected}
    assert found == pytest.approx(expected, rel=1e-12)
    lr, batch_size = {1: (0.00011906162909279594, 372), 47: (0.00023154786715251881, 95)}.get(
        seed, (0.0002939271675355117, 18)
    )
    assert content["optimizer"]["lr"] == pytest.approx(lr, rel=1e-12)
    assert content["dataset"]["batch_size"] == batch_size
    assert content["trainer"]["max_epochs"] * content["trainer"]["steps_per_epoch"] == 5000


def test_a_value_of_the_command_line_wins_over_the_draw() -> None:
    content = content_of("aggregator=iga", "seed=1", "optimizer.lr=0.5", "aggregator.penalty_weight=2")
    assert (content["optimizer"]["lr"], content["aggregator"]["penalty_weight"]) == (0.5, 2)


def methods_of_the_study() -> list[tuple[str, ...]]:
    """The overrides of every method, once, without its seeds."""
    (step,) = load_study("ood_bench").steps
    found: dict[tuple[str, ...], None] = {}
    for own in step.overrides:  # type: ignore[union-attr]
        name, *more = [override for override in own if not override.startswith("seed=")]
        for value in name.removeprefix("aggregator=").split(","):
            found[f"aggregator={value}", *more] = None
    return list(found)


def test_the_study_has_every_row() -> None:
    assert len(methods_of_the_study()) == len(METHODS)


@pytest.mark.parametrize("overrides", methods_of_the_study(), ids=" ".join)
def test_every_method_takes_steps(overrides: tuple[str, ...]) -> None:
    few = ("trainer.steps_per_epoch=3", "trainer.evaluation_examples=50", "model.hidden_units=6")
    # At draw 0 no component passes the SAND-mask, whose threshold is 1, as in DomainBed.
    content = content_of(*overrides, *few, "seed=41", "dataset.source=digits", "device=cpu")
    task = RunOptions.of(content).build_task(torch.device("cpu"))
    assert isinstance(task, EnvironmentTask)
    before = torch.cat([p.detach().flatten() for p in task.model.parameters()])
    task.train_epoch()
    metrics = task.evaluate()
    after = torch.cat([p.detach().flatten() for p in task.model.parameters()])
    assert task.step == 3 and not torch.equal(before, after)
    assert {"validation/accuracy", "test/accuracy", "test_held_out/accuracy"} <= metrics.keys()


def test_runs_that_share_the_work_of_composing_have_their_own_draws() -> None:
    for seed in (3, 20, 21):
        overrides = ["experiment=ood_bench", f"seed={seed}", "aggregator=iga"]
        assert resolve(compose_run(overrides)) == resolve(compose_config(overrides))
        assert run_name(compose_run(overrides)) == run_name(compose_config(overrides))
