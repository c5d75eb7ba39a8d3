"""Plain training with the thesis's configuration, in steps of 128 examples of all environments."""

from __future__ import annotations

import pandas as pd
import torch

from lab.configuration.compose import compose_experiment
from lab.environment_task import EnvironmentTask
from lab.experiments.measurement import OVERRIDES
from lab.experiments.spirals.readings import PLAIN_STEPS, Reading
from lab.experiments.spirals.together import train_together
from lab.machine.subnormals import subnormals_are_zero
from lab.runs.one_run.run_options import RunOptions

LR, WEIGHT_DECAY = 1e-2, 1e-4
"""The learning rate and weight decay of the configuration that the thesis names its best."""
EVALUATIONS = 10
PLAIN = (
    "experiment=spirals",
    "~tuned",
    "aggregator=mean",
    "gradients=pooled",
    f"optimizer.lr={LR}",
    f"optimizer.weight_decay={WEIGHT_DECAY}",
    "+dataset.batches=any_environment",
    "dataset.batch_size=128",
    "trainer.stop_when_memorised=false",
    "trainer.evaluation_examples=4096",
    *OVERRIDES,
)
_STEPS_PER_EPOCH = {2: 20, 4: 40, 8: 75, 16: 150}
"""The steps per epoch by number of environments, at most one pass over the data. Larger numbers have 300."""


def task_of(reading: Reading, n_environments: int, seed: int, *further: str) -> EnvironmentTask:
    """Return the task that a run with these settings would train."""
    steps = _STEPS_PER_EPOCH.get(n_environments, 300)
    data = {**reading._asdict(), "n_environments": n_environments}
    overrides = [
        *PLAIN,
        *(f"dataset.{name}={value}" for name, value in data.items()),
        f"+trainer.steps_per_epoch={steps}",
        f"trainer.max_epochs={PLAIN_STEPS // steps}",
        f"seed={seed}",
        *further,
    ]
    task = RunOptions.of(compose_experiment(overrides)).build_task(torch.device("cpu"))
    assert isinstance(task, EnvironmentTask)
    return task


def evaluations(reading: Reading, n_environments: int, seeds: int, *further: str) -> pd.DataFrame:
    """Train all seeds, evaluate each ten times on the way, and return a row per seed and evaluation.

    ``further`` are overrides of the run's options.
    """
    tasks = [task_of(reading, n_environments, seed, *further) for seed in range(seeds)]
    epochs = PLAIN_STEPS // (tasks[0].schedule.steps_per_epoch or PLAIN_STEPS)
    with subnormals_are_zero():
        evaluated = list(train_together(tasks, epochs, epochs // EVALUATIONS, LR, WEIGHT_DECAY))
    known = {**reading._asdict(), "n_environments": n_environments}
    return pd.DataFrame(
        [
            {"seed": seed, **known, "epoch": epoch, **metrics, "data_source": task.data.source}
            for epoch, of_all in evaluated
            for seed, (task, metrics) in enumerate(zip(tasks, of_all, strict=True))
        ]
    )
