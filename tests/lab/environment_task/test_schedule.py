"""An epoch of so many steps: where it ends, what it leaves unseen, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import lab.environment_task.task as task_module
from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.data import Split
from lab.environment_task import EnvironmentTask
from lab.environment_task.schedule import Schedule
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.task import Interrupted


def _task(*overrides: str) -> EnvironmentTask:
    small = ["dataset.n_environments=2", "dataset.examples_per_environment=40", "dataset.batch_size=10"]
    config = compose_experiment(["experiment=spirals", "~tuned", "logger=none", *small, *overrides])
    task = RunOptions.of(config).build_task(torch.device("cpu"))
    assert isinstance(task, EnvironmentTask)
    return task


@pytest.mark.parametrize(("limit", "steps"), [(None, 4), (1, 1), (3, 3), (9, 4)])
def test_an_epoch_has_at_most_so_many_steps(limit: int | None, steps: int) -> None:
    task = _task(*([] if limit is None else [f"+trainer.steps_per_epoch={limit}"]))
    for epoch in (1, 2):
        task.train_epoch()
        assert task.step == epoch * steps


@pytest.mark.parametrize("size", [10, 15])
def test_an_epoch_of_several_passes_has_all_its_steps_and_no_small_batch(size: int) -> None:
    options = (f"dataset.batch_size={size}", "+trainer.steps_per_epoch=9", "+trainer.several_passes=true")
    task, seen = _task(*options), []
    task.take_step = lambda inputs, targets, record: (
        seen.append(inputs)
        or step(  # type: ignore[method-assign,func-returns-value]
            inputs, targets, record
        )
    )
    step = EnvironmentTask.take_step.__get__(task)
    task.train_epoch()
    assert task.step == len(seen) == 9
    assert {inputs.shape[1] for inputs in seen} == {size}
    of_a_pass = 40 // size
    passes = [torch.cat(seen[i : i + of_a_pass], 1) for i in range(0, 9 - of_a_pass + 1, of_a_pass)]
    for one in passes:  # No example twice in a pass, and another order in each.
        assert len(one[0].unique(dim=0)) == of_a_pass * size
    assert not torch.equal(passes[0], passes[1])


def test_several_passes_stopped_in_an_epoch_continue_with_the_same_batches() -> None:
    options = ("+trainer.steps_per_epoch=9", "+trainer.several_passes=true")
    whole, halved = _task(*options), _task(*options)
    whole.train_epoch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_module, "stop_requested", lambda: "SIGTERM" if halved.step == 6 else None)
        with pytest.raises(Interrupted):
            halved.train_epoch()
    again = _task(*options)
    again.load_state_dict(halved.state_dict())
    again.train_epoch()
    assert again.step == 9
    assert all(map(torch.equal, again.model.parameters(), whole.model.parameters()))


def test_a_shorter_epoch_begins_with_the_same_batches_and_then_draws_others() -> None:
    whole, short = _task(), _task("+trainer.steps_per_epoch=2")
    first = [inputs for inputs, _ in whole.sampler]
    again = [inputs for inputs, _ in short.sampler]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    short = _task("+trainer.steps_per_epoch=2")
    short.train_epoch()
    assert not torch.equal(next(iter(short.sampler))[0], first[2])


def test_the_rate_falls_after_epochs_of_so_many_steps() -> None:
    task = _task("+trainer.steps_per_epoch=1", "trainer.max_epochs=8")
    rates = []
    for _ in range(8):
        rates.append(task.optimizer.param_groups[0]["lr"])
        task.train_epoch()
    assert [rate / rates[0] for rate in rates] == pytest.approx([1] * 4 + [0.1] * 2 + [0.01] * 2)


def test_a_run_converges_at_the_first_step_whose_whole_training_risk_is_low_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = _task("trainer.stop_at_loss=0.5", "+trainer.steps_per_epoch=6", "+trainer.several_passes=true")
    measured = iter([0.9, 0.51, 0.5])
    monkeypatch.setattr(task_module, "evaluate", lambda *_: {"loss": next(measured)})
    risks = iter([1.01, 1.0, 0.2, 0.9, 0.8])  # Only a batch with more than twice the limit is not checked.
    monkeypatch.setattr(
        task, "take_step", lambda x, y, seen: seen.add(*[torch.full((1,), next(risks))] * 3, {})
    )
    monkeypatch.setattr(task.scheduler, "step", lambda: None)
    assert task.train_epoch()["converged"] == 1
    assert (next(risks), next(measured, None)) == (0.8, None)


class _Noted:
    """A regularizer that notes what it is told."""

    def __init__(self) -> None:
        self.scales: list[float] = []
        self.rates: list[float] = []

    def before_step(self, scale: float = 1.0) -> None:
        self.scales.append(scale)

    def after_step(self, lr: float) -> None:
        self.rates.append(lr)


def test_weight_decay_follows_the_scale_of_the_loss_and_the_present_rate() -> None:
    jump = ("aggregator=irm_penalty", "aggregator.penalty_weight=4", "aggregator.schedule_steps=2")
    options = ("+trainer.steps_per_epoch=1", "trainer.max_epochs=4", "trainer.milestones=[0.75]")
    task, noted = _task(*jump, *options), _Noted()
    task.regularizer = noted  # type: ignore[assignment]
    lr = task.optimizer.defaults["lr"]
    for _ in range(4):
        task.train_epoch()
    assert noted.scales == [1, 1, 0.25, 0.25]  # The loss is divided by a weight above 1.
    assert noted.rates == pytest.approx([lr, lr, lr, lr / 10])


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_the_first_epoch_always_has_the_full_rate(epochs: int) -> None:
    task = _task(f"trainer.max_epochs={epochs}", "trainer.milestones=[0.1,0.3]")
    rates = [group["lr"] for group in task.optimizer.param_groups]
    assert rates == [task.optimizer.defaults["lr"]]


@pytest.mark.parametrize(
    ("fraction", "epochs", "drop"),
    [(0.29, 100, 29), (0.57, 100, 57), (0.35, 180, 63), (0.5, 93, 46), (0.9, 46, 41)],
)
def test_a_drop_is_at_the_fraction_without_its_part_of_an_epoch(
    fraction: float, epochs: int, drop: int
) -> None:
    assert Schedule(milestones=(fraction,)).drops(epochs) == [drop]


@pytest.mark.parametrize(
    ("options", "train", "test"),
    [
        ((), 80, 300),
        (("trainer.evaluation_examples=50",), 50, 50),
        (("+trainer.training_examples_evaluated=50",), 50, 300),
        # The smaller number counts, also for the training risk that may end the run.
        (("trainer.evaluation_examples=30", "+trainer.training_examples_evaluated=50"), 30, 30),
    ],
)
def test_test_data_are_cut_only_if_all_splits_are(
    options: tuple[str, ...], train: int, test: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = _task("dataset.n_test=300", "trainer.stop_at_loss=1e9", *options)
    sizes: list[int] = []
    evaluate = task_module.evaluate

    def counted(model: nn.Module, split: Split, *others: Any) -> dict[str, float]:
        sizes.append(len(split.inputs))
        return evaluate(model, split, *others)

    monkeypatch.setattr(task_module, "evaluate", counted)
    task.evaluate()
    assert dict(zip(("train", *task.data.evaluation), sizes, strict=True)) == {"train": train, "test": test}
    sizes.clear()
    task.train_epoch()
    assert sizes == [train]


@pytest.mark.parametrize("name", ["steps_per_epoch", "evaluation_examples", "training_examples_evaluated"])
def test_less_than_one_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"trainer.{name} must be null or at least 1, got 0"):
        Schedule(**{name: 0})


def test_passes_without_end_are_refused() -> None:
    with pytest.raises(UserError, match=r"add \+trainer\.steps_per_epoch=N"):
        Schedule(several_passes=True)
