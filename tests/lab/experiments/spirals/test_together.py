"""Networks that are trained together end where each does alone."""

from __future__ import annotations

import pytest
import torch

from lab.environment_task import EnvironmentTask
from lab.experiments.spirals.plain_training import LR, WEIGHT_DECAY, task_of
from lab.experiments.spirals.readings import CHOSEN, PLAIN_STEPS
from lab.experiments.spirals.together import train_together


def _task(seed: int, *further: str) -> EnvironmentTask:
    return task_of(
        CHOSEN,
        6,
        seed,
        "dataset.examples_per_environment=100",
        "dataset.n_test=100",
        "dataset.batch_size=50",
        "model.hidden_units=16",
        "trainer.max_epochs=4",
        "trainer.steps_per_epoch=5",
        *further,
    )


@pytest.mark.parametrize("n_environments", [2, 4, 8, 16, 32])
def test_all_numbers_of_environments_have_as_many_steps(n_environments: int) -> None:
    task = task_of(CHOSEN, n_environments, 0)
    steps = task.schedule.steps_per_epoch
    assert steps is not None
    assert steps <= len(task.sampler)
    assert PLAIN_STEPS % steps == 0
    assert min(task.scheduler.milestones) == PLAIN_STEPS // steps // 2


@pytest.mark.parametrize("model", ["mlp", "kaiming_mlp"])
def test_each_is_trained_as_alone(model: str) -> None:
    seeds = (0, 1, 2)
    together = [_task(seed, f"model={model}") for seed in seeds]
    evaluated = dict(train_together(together, 4, 2, LR, WEIGHT_DECAY))
    assert list(evaluated) == [2, 4]
    for place, seed in enumerate(seeds):
        alone = _task(seed, f"model={model}")
        for epoch in (1, 2, 3, 4):
            alone.train_epoch()
            if epoch in evaluated:
                assert evaluated[epoch][place]["train/loss"] == pytest.approx(
                    alone.evaluate()["train/loss"], rel=1e-3
                )
        assert alone.step == 20  # five of the twelve batches of every epoch
        for name, parameter in alone.model.named_parameters():
            assert torch.allclose(together[place].model.get_parameter(name), parameter, rtol=1e-2, atol=1e-4)


def test_the_learning_rate_falls_on_the_way() -> None:
    """Else the last epochs would move the networks as far as the first."""
    moves = []
    (task,) = [_task(0)]
    before = task.model.get_parameter("layers.2.weight").detach().clone()
    for _ in train_together([task], 4, 1, LR, WEIGHT_DECAY):
        now = task.model.get_parameter("layers.2.weight").detach().clone()
        moves.append(float((now - before).norm()))
        before = now
    assert moves[3] < 0.1 * moves[0]
