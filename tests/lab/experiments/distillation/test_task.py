"""The task: every method, stopped and continued, refused where it does not apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.experiments.distillation.task import DistillationTask
from lab.runs.one_run.run_options import RunOptions

SMALL = {
    "noisy_privileged": ["dataset.n_train=[16,24]", "dataset.dimensions=6", "dataset.teacher_units=[8]"],
    "noisy_labels": ["dataset.n_train=[24]", "dataset.dimensions=6", "dataset.student_units=[8]"],
    "game_of_life": ["dataset.n_train=[24]", "dataset.size=5", "dataset.steps=2", "dataset.filters=4"],
    "mujoco_returns": [
        "dataset.n_train=[24]",
        "dataset.student_units=8",
        "dataset.teacher_channels=[4,4]",
        "dataset.teacher_units=8",
    ],
}
COMMON = [
    "experiment=distillation",
    "n_seeds=2",
    "batch_size=4",
    "student_steps=3",
    "teaching.n_inner=3",
    "dataset.n_test=10",
    "device=cpu",
]


def task_of(*overrides: str, data_dir: Path | None = None) -> DistillationTask:
    content: dict[str, Any] = compose_experiment([*COMMON, *overrides, f"data_dir={data_dir or 'data'}"])
    torch.manual_seed(0)
    task = RunOptions.of(content).build_task(torch.device("cpu"))
    assert isinstance(task, DistillationTask)
    return task


CASES = [
    (dataset, method, *more)
    for dataset, method, *more in (
        ("noisy_privileged", "distill", "teaching.split=fixed"),
        ("noisy_privileged", "no_teacher"),
        ("noisy_privileged", "fixed_teacher"),
        ("noisy_labels", "distill"),
        ("noisy_labels", "entropy_bonus", "entropy_weight=0.1"),
        ("game_of_life", "distill"),
        ("game_of_life", "fixed_teacher", "fixed_teacher=oracle"),
        ("mujoco_returns", "distill", "dataset.shuffled_time=true", "dataset.noise_frames=4"),
        ("mujoco_returns", "auxiliary"),
        ("mujoco_returns", "fixed_teacher"),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_method_learns_and_continues_with_the_same_numbers(case: tuple[str, ...], tmp_path: Path) -> None:
    dataset, method, *more = case
    if dataset == "mujoco_returns":
        pytest.importorskip("mujoco")
    overrides = [f"dataset={dataset}", f"method={method}", *SMALL[dataset], *more]
    whole = task_of(*overrides, data_dir=tmp_path)
    before = {name: value.clone() for name, value in whole.weights.items()}
    for _ in range(2):
        whole.train_epoch()
    assert any(not torch.equal(value, before[name]) for name, value in whole.weights.items())
    state, random = whole.state_dict(), torch.get_rng_state()
    torch.save(state, tmp_path / "state.pt")
    expected = {**whole.train_epoch(), **whole.evaluate()}
    again = task_of(*overrides, data_dir=tmp_path)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    torch.set_rng_state(random)
    assert {**again.train_epoch(), **again.evaluate()} == expected
    assert again.step == whole.step == 9
    measure = "test/mse" if dataset == "mujoco_returns" else "test/accuracy"
    assert measure in expected
    assert ("meta/gradient_norm" in expected) == (method == "distill")


def test_a_meta_step_moves_the_teacher_and_not_the_student() -> None:
    task = task_of(*SMALL["noisy_privileged"])
    assert task.teacher is not None
    weights = {name: value.clone() for name, value in task.weights.items()}
    state = {name: value.clone() for name, value in task.state.items()}
    teacher = [p.detach().clone() for p in task.teacher.parameters()]
    task._meta_step(task.split.batches(3))
    assert all(torch.equal(value, weights[name]) for name, value in task.weights.items())
    assert all(torch.equal(value, state[name]) for name, value in task.state.items())
    assert any(not torch.equal(p, old) for p, old in zip(task.teacher.parameters(), teacher, strict=True))


def test_replicas_learn_as_they_would_alone() -> None:
    # Without a split and with one batch of everything, nothing random is left but the start.
    options = ["method=no_teacher", "dataset.dimensions=6", "student_steps=5", "batch_size=8"]
    both = task_of(*options, "dataset.n_train=[8]", "n_seeds=2")
    alone = task_of(*options, "dataset.n_train=[8]", "n_seeds=1", "seed=1")
    for _ in range(3):
        both.train_epoch()
        alone.train_epoch()
    for name, value in alone.weights.items():
        torch.testing.assert_close(both.weights[name][1], value[0], rtol=1e-4, atol=1e-6)


def test_memory_grows_linearly_with_the_unrolled_steps() -> None:
    def kept(n_inner: int) -> int:
        task = task_of(*SMALL["noisy_labels"], f"teaching.n_inner={n_inner}", "dataset.student_units=[32]")
        sizes: dict[int, int] = {}

        def keep(values: torch.Tensor) -> torch.Tensor:
            sizes[values.untyped_storage().data_ptr()] = values.untyped_storage().nbytes()
            held.append(values)
            return values

        held: list[torch.Tensor] = []
        rows = task.split.batches(n_inner)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda values: values):
            task._meta_step(rows)
        return sum(sizes.values())

    four, eight, sixteen = kept(4), kept(8), kept(16)
    assert (sixteen - eight) / (eight - four) == pytest.approx(2.0, rel=0.1)


def test_a_meta_gradient_that_is_not_finite_stops_with_the_step_and_the_remedy() -> None:
    task = task_of(*SMALL["noisy_labels"], "inner.lr=1e30", "teaching.carried=false", "inner.kind=sgd")
    with pytest.raises(UserError, match=r"not finite at meta-step 1: choose a smaller inner\.lr"):
        task.train_epoch()


def test_a_student_without_a_teacher_that_diverges_stops_too() -> None:
    task = task_of(*SMALL["noisy_labels"], "dataset=noisy_labels", "method=no_teacher", "student.lr=1e30")
    with pytest.raises(UserError, match="not finite after step"):
        for _ in range(3):
            task.train_epoch()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["method=distil"], "method must be one of distill, no_teacher"),
        (["method=entropy_bonus", "entropy_weight=1"], "method=entropy_bonus needs a problem"),
        (
            ["method=entropy_bonus", "dataset=noisy_labels", "entropy_weight=-1"],
            "entropy_weight must be at least 0, got -1",
        ),
        (["method=auxiliary", "auxiliary_weight=-1"], "auxiliary_weight must be at least 0, got -1"),
        (["method=auxiliary"], "predicts the privileged data: choose dataset=mujoco_returns"),
        (["method=auxiliary", "dataset=game_of_life"], "method=auxiliary needs a problem"),
        (["method=fixed_teacher", "fixed_teacher=oracle"], "oracle with dataset=game_of_life"),
        (["dataset=game_of_life", "dataset.alive=2"], r"dataset\.alive is a share"),
        (["dataset=mujoco_returns", "dataset.student_layers=0"], r"dataset\.student_layers"),
        (["dataset=mujoco_returns", "dataset.teacher_channels=[]"], "one number of channels or more"),
        (["dataset.n_train=[16,16]"], "different sizes"),
        (["dataset.n_train=[8]", "teaching.validation_share=0.95"], "0.95 of 8 examples leaves none"),
        (["teaching.split=random"], r"teaching\.split must be fixed or redrawn"),
        (["student.kind=adagrad"], "kind must be adam or sgd"),
        (["inner.lr=1"], "inner and student must be equal optimizers"),
        (["dataset.n_train=[2]"], "at least 4"),
        (["n_seeds=0"], "n_seeds must be at least 1"),
        (["batch_size=0"], "batch_size"),
        (["dataset.n_test=0"], "n_test must be at least 1"),
        (["dataset.student_units=[]"], "student_units must give"),
        (["teacher.lr=1e300"], "32-bit"),
    ],
)
def test_what_makes_no_sense_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        task_of(*overrides)


def test_a_weight_of_zero_is_plain_training_and_said() -> None:
    with pytest.warns(UserWarning, match="entropy_weight=0 trains as method=no_teacher does"):
        task_of(*SMALL["noisy_labels"], "dataset=noisy_labels", "method=entropy_bonus")
