"""The cost of a step of every neighbour on the spirals, compared with plain training."""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch

from lab.configuration.compose import compose_experiment
from lab.environment_task import EnvironmentTask
from lab.experiments.measurement import OVERRIDES, Parts, Tables
from lab.experiments.step_cost import median_milliseconds
from lab.runs.one_run.run_options import RunOptions
from lab.runs.search.search_file import load_definitions

SEARCHES = "neighbours_spirals"
PLAIN = "mean"
STEPS_AT_ONCE = 4


def parts(steps: int = 15) -> Parts:
    """Return the part of ``neighbours/cost.csv``, which needs an idle machine.

    There is a row per search of the file, with options at their defaults. The times are medians of a step, in
    milliseconds and relative to plain training. The methods take turns. A step of the temporal mask uses one
    environment, and a step of all others uses all of them.

    Args:
        steps: number of timed turns of every method; a turn has several steps.
    """
    return {"steps": partial(_measure, steps)}


def _measure(steps: int) -> Tables:
    torch.set_num_threads(1)
    tasks = {
        definition.name.rpartition("/")[2]: _task(definition.fixed)
        for definition in load_definitions(SEARCHES)
    }
    ways = {name: task.train_epoch for name, task in tasks.items()}
    milliseconds = {name: each / STEPS_AT_ONCE for name, each in median_milliseconds(ways, steps).items()}
    rows = [
        {
            "method": name,
            "milliseconds": round(each, 2),
            "relative": round(each / milliseconds[PLAIN], 3),
            "n": steps,
        }
        for name, each in milliseconds.items()
    ]
    return {"neighbours/cost.csv": pd.DataFrame(rows)}


def _task(fixed: tuple[str, ...]) -> EnvironmentTask:
    overrides = [*fixed, f"+trainer.steps_per_epoch={STEPS_AT_ONCE}", *OVERRIDES]
    task = RunOptions.of(compose_experiment(overrides)).build_task(torch.device("cpu"))
    assert isinstance(task, EnvironmentTask)
    return task
