"""The time of one of the benchmark's jobs with its authors' script, and with our program.

A job is one training, with one data seed, one draw of the options and 10,000 full-batch steps.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

import pandas as pd
import torch

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.experiments.linear_unit_tests.task import LinearUnitTestsTask
from lab.experiments.measurement import Parts, Tables
from lab.runs.one_run.run_options import RunOptions

THEIRS = {"plain": "ERM", "irm_penalty": "IRMv1", "iga": "IGA", "and_mask_published": "ANDMask"}
"""The names of methods in the authors' script, by our names."""

STEPS_OF_A_JOB = 10_000

_SCRIPT = """
import sys, time, torch
sys.path.insert(0, sys.argv[1])
import datasets, models, utils
torch.set_num_threads(1)
problem, name, steps, repeats = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
utils.set_seed(0)
data = datasets.DATASETS[problem](dim_inv=5, dim_spu=5, n_envs=3)
envs = {"train": {"envs": [data.sample(n=10000, env=env, split="train") for env in data.envs]}}
model = models.MODELS[name](in_features=10, out_features=1, task=data.task)
model.fit(envs, 20)
for _ in range(repeats):
    began = time.perf_counter()
    model.fit(envs, steps)
    print((time.perf_counter() - began) / steps)
"""


def parts(authors: str, steps: int = 200, repeats: int = 5) -> Parts:
    """Return one part per problem; ``linear_unit_tests/job_time.csv`` has a row per problem and method.

    The times are seconds of one thread for the training only, with three environments and 5 + 5 dimensions.
    A time is the median time per step over ``repeats`` stretches of steps, times the number of steps of a
    job. Our program trains several jobs at once, and its time is divided by their number: 1,000 jobs for a
    quadratic problem, and the 20 jobs of one seed for a logistic one.

    Args:
        authors: folder with a clone of github.com/facebookresearch/InvarianceUnitTests.
        steps: number of steps of a stretch.
        repeats: number of stretches.

    Raises:
        UserError: the folder is not such a clone; this is raised when a part is computed.
    """
    return {problem: partial(_measure, problem, authors, steps, repeats) for problem in ("1", "2", "3")}


def _measure(problem: str, authors: str, steps: int, repeats: int) -> Tables:
    scripts = Path(authors) / "scripts"
    if not (scripts / "models.py").exists():
        raise UserError(
            f"{authors} is not a clone of the benchmark: run git clone "
            f"https://github.com/facebookresearch/InvarianceUnitTests {authors}"
        )
    torch.set_num_threads(1)
    rows = []
    for method in THEIRS:
        theirs = _theirs(problem, method, scripts, steps, repeats)
        ours, jobs = _ours(problem, method, steps, repeats)
        row = {"problem": problem, "method": method, "theirs_seconds": theirs, "ours_seconds": ours}
        rows.append({**row, "ratio": theirs / ours, "jobs_at_once": jobs, "n": repeats})
    return {"linear_unit_tests/job_time.csv": pd.DataFrame(rows)}


def _theirs(problem: str, method: str, scripts: Path, steps: int, repeats: int) -> float:
    arguments = [str(scripts), f"Example{problem}", THEIRS[method], str(steps), str(repeats)]
    command = [sys.executable, "-c", _SCRIPT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return STEPS_OF_A_JOB * median(map(float, done.stdout.split()))


def _ours(problem: str, method: str, steps: int, repeats: int) -> tuple[float, int]:
    n_seeds = 50 if problem == "1" else 1
    overrides = [f"dataset.problem='{problem}'", f"method={method}", f"n_seeds={n_seeds}"]
    content = compose_experiment(
        ["experiment=linear_unit_tests", *overrides, f"steps_per_epoch={steps}", "aggregator=mean"]
    )
    task = RunOptions.of(content).build_task(torch.device("cpu"))
    assert isinstance(task, LinearUnitTestsTask)
    jobs = n_seeds * task.model.weights.shape[-1]
    seconds = []
    for _ in range(1 + repeats):
        began = time.perf_counter()
        task.train_epoch()
        seconds.append(time.perf_counter() - began)
    return STEPS_OF_A_JOB / steps * median(seconds[1:]) / jobs, jobs
