"""Solutions of four small problems, trained and scored, to see whether the AND-mask's are more consistent.

The solutions of ``linear_sem`` are not trained here. They are read from the committed runs of that
experiment.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from lab.experiments.measurement import Parts, Tables, trained
from lab.experiments.theory.linear_sem_solutions import METHODS, TEST_NAME, linear_sem_solutions
from lab.experiments.theory.problems import PROBLEMS, Problem
from lab.experiments.theory.score_rows import exact_scores
from lab.experiments.theory.solutions import SMALL
from lab.experiments.theory.task import SmallProblemsTask
from lab.runs import LoadedRun

RESULTS = Path(__file__).parents[5] / "results"


def parts(seeds: int = 10, linear_sem_runs: str | Path = RESULTS / "irm" / "linear_runs.csv") -> Parts:
    """Return the parts of ``theory/solutions_small.csv``: one per problem and method.

    All parts together take ten minutes.

    Args:
        seeds: the number of seeds, which begin with 0.
        linear_sem_runs: the committed runs of ``linear_sem``.
    """
    return {
        **_trained("two_parameters", seeds),
        **_trained("authors_regression", seeds),
        "linear_sem": partial(score_linear_sem, seeds, Path(linear_sem_runs)),
        **_trained("small_spirals", seeds),
    }


def _trained(problem: str, n_seeds: int) -> Parts:
    return {
        f"{problem}-{method}" + ("" if threshold is None else f"-{threshold:g}"): partial(
            score_small, problem, n_seeds, method, threshold
        )
        for method, threshold in _methods(PROBLEMS[problem](1, 0.0))
    }


def _methods(problem: Problem) -> Iterator[tuple[str, float | None]]:
    """Yield the names and agreement thresholds of the methods that solve a problem."""
    yield "mean", None
    for threshold in problem.thresholds:
        yield "and_mask", threshold
    yield "geometric_mean", 1.0
    if problem.irm_weight is not None:
        yield "irm_penalty", None


def score_linear_sem(n_seeds: int, runs: Path) -> Tables:
    """Score the committed solutions of the linear structural equation model.

    Raises:
        UserError: ``linear_sem_solutions`` raises it.
    """
    rows = []
    for solution in linear_sem_solutions(runs, n_seeds):
        known = {
            "problem": "linear_sem",
            "aggregator": solution.aggregator,
            "agreement_threshold": METHODS[solution.aggregator],
            "seed": solution.seed,
            "steps": solution.steps,
            "test_name": TEST_NAME,
            "test": solution.test,
        }
        rows += exact_scores(known, solution.losses, solution.theta)
    return {SMALL.as_posix(): pd.DataFrame(rows)}


def score_small(problem_name: str, n_seeds: int, method: str, threshold: float | None) -> Tables:
    """Solve one problem with one method from every seed, then score every solution."""
    run = solved(problem_name, n_seeds, method, threshold)
    assert isinstance(run.task, SmallProblemsTask)
    problem, solutions = run.task.problem, run.task.model.solutions()
    rows = []
    for seed, steps in enumerate(run.task.model.steps().tolist()):
        theta, losses = solutions[seed], problem.losses(seed)
        known = {
            "problem": problem.name,
            "aggregator": method,
            "agreement_threshold": threshold,
            "seed": seed,
            "steps": steps,
            "test_name": problem.test_name,
            "test": problem.test(seed, theta),
        }
        rows += exact_scores(known, losses, theta)
    return {SMALL.as_posix(): pd.DataFrame(rows)}


def solved(problem: str, n_seeds: int, method: str, threshold: float | None) -> LoadedRun:
    """Return the run that solves a problem with one method."""
    chosen = [] if threshold is None else [f"agreement_threshold={threshold}"]
    shared = ["experiment=theory", f"problem={problem}", f"n_seeds={n_seeds}", f"method={method}"]
    return trained([*shared, *chosen])
