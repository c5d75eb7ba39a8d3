"""The task: stopped and continued, selection, and what it refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.experiments.linear_unit_tests.selection import best_draw, summary
from lab.experiments.linear_unit_tests.task import LinearUnitTestsTask
from lab.runs.one_run.run_options import RunOptions

SMALL = [
    "experiment=linear_unit_tests",
    "n_seeds=2",
    "n_draws=3",
    "steps_per_epoch=3",
    "dataset.examples_per_environment=20",
    "device=cpu",
]


def task_of(*overrides: str) -> LinearUnitTestsTask:
    content: dict[str, Any] = compose_experiment([*SMALL, *overrides])
    task = RunOptions.of(content).build_task(torch.device("cpu"))
    assert isinstance(task, LinearUnitTestsTask)
    return task


@pytest.mark.parametrize("problem", ["1", "2s"])
@pytest.mark.parametrize(
    "method",
    [
        ["method=iga"],
        ["method=and_mask_published"],
        ["method=null", "aggregator=group_dro"],
        ["method=null", "aggregator=grad_drop"],
        ["method=null", "aggregator=gram_agreement"],
        ["method=null", "aggregator=gram_weights", "aggregator.kind=MGDA"],
    ],
    ids="-".join,
)
def test_continues_with_the_same_numbers(problem: str, method: list[str], tmp_path: Path) -> None:
    if "aggregator=gram_weights" in method:
        pytest.importorskip("torchjd")
    overrides = [f"dataset.problem={problem}", *method]
    whole = task_of(*overrides)
    whole.train_epoch()
    torch.save(whole.state_dict(), tmp_path / "state.pt")
    whole.train_epoch()
    again = task_of(*overrides)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    again.train_epoch()
    assert torch.equal(again.model.weights, whole.model.weights)
    assert again.evaluate() == whole.evaluate()
    assert again.step == whole.step == 6
    assert again.data.fingerprint() == whole.data.fingerprint()


def test_the_model_is_what_was_trained() -> None:
    task = task_of("dataset.problem=3")
    before = task.model.weights.detach().clone()
    task.train_epoch()
    assert not torch.equal(task.model.weights, before)
    inputs = torch.randn(2, 4, 10)
    expected = torch.einsum("snp,spm->snm", inputs, task.model.weights[:, :-1]) + task.model.weights[:, -1:]
    torch.testing.assert_close(task.model(inputs), expected)


def test_a_draw_is_chosen_by_its_validation_error_over_all_seeds() -> None:
    validation = torch.tensor([[[0.1, 0.2, 0.0], [0.1, 0.3, 0.0]], [[0.4, 0.1, math.nan], [0.4, 0.1, 0.0]]])
    assert best_draw(validation) == 1
    test = torch.tensor([[[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]], [[0.0, 3.0, 0.0], [0.0, 6.0, 0.0]]])
    found = summary({"validation": validation, "test": test}, 1, [5, 6])
    assert found["test/error"] == 3.0
    assert found["test/error_std"] == 1.5  # of 1 and 3 it is 1, of 2 and 6 it is 2
    assert found["test/error_E1"] == 4.0
    assert found["seed6/test/error"] == 4.5
    assert found["draw"] == 1


def test_the_chosen_options_are_in_the_summary() -> None:
    task = task_of("method=irm_penalty")
    metrics = task.evaluate()
    assert set(task.remarks([metrics], metrics)) == {"chosen/lr", "chosen/weight_decay", "chosen/irm_lambda"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["method=erm"], "method must be one of plain, irm_penalty"),
        (["aggregator=and_mask"], "method=plain does not use aggregator=and_mask: add method=null"),
        (["dataset.problem=4"], "problem must be one of 1, 1s, 2"),
        (["dataset.n_environments=1"], "n_environments of at least 2"),
        (["dataset.rotation=2"], r"dataset\.rotation in \[0, 1\]"),
        (["dataset.problem=1", "dataset.rotation=0.5"], "has no effect on problem 1, which is not turned"),
        (["n_draws=0"], "n_draws and steps_per_epoch must be at least 1"),
        (["n_seeds=0"], "n_seeds of at least 1"),
        (["method=null", "aggregator=iga"], "with method=null do not support Iga"),
        (
            ["method=null", "aggregator=temporal_mask"],
            "of type TemporalMask, but this run takes",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        task_of(*overrides)
