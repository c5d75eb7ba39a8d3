"""Plain training with many environments and 128 examples per step of all, under every reading of the data.

Each network is trained as its run would be (``PLAIN`` are the overrides), those of all seeds together.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch

from ilc.configuration.compose import compose_experiment
from ilc.environment_task import EnvironmentTask
from ilc.experiments.measurement import OVERRIDES, Parts, Tables
from ilc.experiments.spirals.readings import MANY_ENVIRONMENTS, PLAIN_RUNS, READINGS, Reading
from ilc.experiments.spirals.together import train_together
from ilc.runs.run_options import RunOptions
from ilc.runs.subnormals import subnormals_are_zero

LR, WEIGHT_DECAY = 1e-2, 1e-4
"""Of the configuration that the thesis names its best."""
EPOCHS = 100
PLAIN = (
    "experiment=spirals",
    "~tuned",
    "aggregator=mean",
    "gradients=pooled",
    f"optimizer.lr={LR}",
    f"optimizer.weight_decay={WEIGHT_DECAY}",
    "+dataset.batches=any_environment",
    "dataset.batch_size=128",
    f"trainer.max_epochs={EPOCHS}",
    "+trainer.steps_per_epoch=300",  # 30,000 in all, as 3,000/E passes over E environments are
    "trainer.stop_when_memorised=false",
    "trainer.evaluation_examples=4096",
    *OVERRIDES,
)


def parts(seeds: int = 3) -> Parts:
    """``spirals/readings_plain.csv``: a part per reading and number of environments, a minute each.

    Args:
        seeds: how many, from 0.
    """
    return {
        "-".join(map(str, (*reading, n_environments))): partial(_train, reading, n_environments, seeds)
        for reading in READINGS
        for n_environments in MANY_ENVIRONMENTS
    }


def task_of(reading: Reading, n_environments: int, seed: int) -> EnvironmentTask:
    """What a run of these settings would train."""
    data = {**reading._asdict(), "n_environments": n_environments}
    overrides = [*PLAIN, *(f"dataset.{name}={value}" for name, value in data.items()), f"seed={seed}"]
    task = RunOptions.of(compose_experiment(overrides)).build_task(torch.device("cpu"))
    assert isinstance(task, EnvironmentTask)
    return task


def _train(reading: Reading, n_environments: int, seeds: int) -> Tables:
    tasks = [task_of(reading, n_environments, seed) for seed in range(seeds)]
    known = {**reading._asdict(), "n_environments": n_environments}
    with subnormals_are_zero():
        evaluated = list(train_together(tasks, EPOCHS, 10, LR, WEIGHT_DECAY))
    rows = [
        {"seed": seed, **known, "epoch": epoch, **metrics, "data_source": task.data.source}
        for epoch, evaluations in evaluated
        for seed, (task, metrics) in enumerate(zip(tasks, evaluations, strict=True))
    ]
    return {PLAIN_RUNS.as_posix(): pd.DataFrame(rows)}
