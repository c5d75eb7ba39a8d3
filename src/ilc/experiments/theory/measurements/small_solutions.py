"""Solutions of four small problems, trained and scored: whether the AND-mask's are the more consistent ones.

Those of ``linear_sem`` are not trained here but read from the committed runs of that experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.experiments.measurement import Parts, Tables
from ilc.experiments.theory.linear_sem_solutions import METHODS, TEST_NAME, linear_sem_solutions
from ilc.experiments.theory.many_seeds import train_seeds
from ilc.experiments.theory.problems import Problem, authors_regression, small_spirals, two_parameters
from ilc.experiments.theory.score_rows import exact_scores
from ilc.experiments.theory.solutions import SMALL

RESULTS = Path(__file__).parents[5] / "results"


def parts(seeds: int = 10, linear_sem_runs: str | Path = RESULTS / "irm" / "linear_runs.csv") -> Parts:
    """``consistency/solutions_small.csv``: a part per problem and method, ten minutes in all.

    Args:
        seeds: how many, from 0.
        linear_sem_runs: the committed runs of ``linear_sem``.
    """
    return {
        **_trained(two_parameters, seeds),
        **_trained(authors_regression, seeds),
        "linear_sem": partial(score_linear_sem, seeds, Path(linear_sem_runs)),
        **_trained(small_spirals, seeds),
    }


def _trained(make_problem: Callable[[int], Problem], n_seeds: int) -> Parts:
    return {
        f"{make_problem.__name__}-{method}" + ("" if threshold is None else f"-{threshold:g}"): partial(
            score_small, make_problem, n_seeds, method, threshold
        )
        for method, threshold in _methods(make_problem(1))
    }


def _methods(problem: Problem) -> Iterator[tuple[str, float | None]]:
    """Names and agreement thresholds of what a problem is solved with."""
    yield "mean", None
    for threshold in problem.thresholds:
        yield "and_mask", threshold
    yield "geometric_mean", 1.0
    if problem.irm_weight is not None:
        yield "irm_penalty", None


def score_linear_sem(n_seeds: int, runs: Path) -> Tables:
    """The committed solutions of the linear structural equation model.

    Raises:
        UserError: as ``linear_sem_solutions``.
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


def score_small(
    make_problem: Callable[[int], Problem], n_seeds: int, method: str, threshold: float | None
) -> Tables:
    """Solve one problem with one method from every seed, then score every solution."""
    problem = make_problem(n_seeds)
    is_irm = method == "irm_penalty" and problem.irm_weight is not None
    objective = problem.irm_objective(problem.irm_weight or 0.0) if is_irm else problem.risk
    trained = train_seeds(
        objective,
        problem.risk,
        problem.inputs,
        problem.targets,
        problem.start,
        _aggregator(method, threshold),
        problem.schedule,
    )
    rows = []
    for seed in range(len(problem.start)):
        theta, losses = trained.parameters[seed], problem.losses(seed)
        known = {
            "problem": problem.name,
            "aggregator": method,
            "agreement_threshold": threshold,
            "seed": seed,
            "steps": int(trained.steps[seed]),
            "test_name": problem.test_name,
            "test": problem.test(seed, theta),
        }
        rows += exact_scores(known, losses, theta)
    return {SMALL.as_posix(): pd.DataFrame(rows)}


def _aggregator(method: str, threshold: float | None) -> Aggregator:
    if threshold is None:
        return Mean()  # Of IRM's objective too, whose penalty is in the risks.
    return {"and_mask": AndMask, "geometric_mean": GeometricMean}[method](threshold)
