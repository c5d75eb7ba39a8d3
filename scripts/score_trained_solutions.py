"""Train and score solutions: whether the AND-mask's are more consistent than averaged ones.

    python scripts/score_trained_solutions.py            the small problems, about ten minutes; linear_sem
                                                         is not trained again but read from results/irm
    python scripts/score_trained_solutions.py --paper    spirals at the paper's size, about forty minutes

writes ``results/consistency/solutions_small.csv`` or ``solutions_paper.csv``, a row per solution, way
of scoring and epsilon. Finished parts are kept under ``outputs/consistency`` and not repeated.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from rich.progress import track

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.consistency.examples.linear_sem_solutions import METHODS, TEST_NAME, linear_sem_solutions
from ilc.consistency.examples.many_seeds import train_seeds
from ilc.consistency.examples.problems import Problem, authors_regression, small_spirals, two_parameters
from ilc.consistency.examples.score_rows import SETTINGS, described, exact_scores, risks_at
from ilc.consistency.examples.spirals_at_paper_size import PAPER_AGGREGATORS, train_network
from ilc.consistency.second_order import score_expansions

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--paper", action="store_true", help="spirals at the paper's size instead")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--linear-sem-runs", type=Path, default=ROOT / "results" / "irm" / "linear_runs.csv")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "consistency")
    parser.add_argument("--parts", type=Path, default=ROOT / "outputs" / "consistency" / "parts")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.parts.mkdir(parents=True, exist_ok=True)
    arguments.results.mkdir(parents=True, exist_ok=True)
    if arguments.paper:
        tables, name = paper_size(arguments.seeds, arguments.parts), "solutions_paper.csv"
    else:
        tables = small(arguments.seeds, arguments.parts, arguments.linear_sem_runs)
        name = "solutions_small.csv"
    table = pd.concat(tables, ignore_index=True)
    path = arguments.results / name
    write_text(path, table.to_csv(index=False, float_format="%.8g"))
    print(f"{path}: {len(table)} rows")


def small(n_seeds: int, parts: Path, linear_sem_runs: Path) -> Iterator[pd.DataFrame]:
    """One table per small problem and method; one for all of linear_sem, which takes seconds."""
    yield from _trained(two_parameters, n_seeds, parts)
    yield from _trained(authors_regression, n_seeds, parts)
    yield score_linear_sem(n_seeds, linear_sem_runs)
    yield from _trained(small_spirals, n_seeds, parts)


def _trained(make_problem: Callable[[int], Problem], n_seeds: int, parts: Path) -> Iterator[pd.DataFrame]:
    problem = make_problem(n_seeds)
    for method, threshold, aggregator in _methods(problem):
        part = parts / f"{make_problem.__name__}-{method}-{threshold}-{n_seeds}.csv"
        title = f"{problem.name}, {method} {threshold if threshold is not None else ''}"
        yield _kept(part, partial(_score_small, problem, method, threshold, aggregator, title))


def score_linear_sem(n_seeds: int, runs: Path) -> pd.DataFrame:
    """The committed solutions of the linear structural equation model."""
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
    return pd.DataFrame(rows)


def _methods(problem: Problem) -> Iterator[tuple[str, float | None, Aggregator]]:
    yield "mean", None, Mean()
    for threshold in problem.thresholds:
        yield "and_mask", threshold, AndMask(threshold)
    yield "geometric_mean", 1.0, GeometricMean(1.0)
    if problem.irm_weight is not None:
        yield "irm_penalty", None, Mean()


def _score_small(
    problem: Problem, method: str, threshold: float | None, aggregator: Aggregator, title: str
) -> pd.DataFrame:
    is_irm = method == "irm_penalty" and problem.irm_weight is not None
    objective = problem.irm_objective(problem.irm_weight or 0.0) if is_irm else problem.risk
    trained = train_seeds(
        objective, problem.risk, problem.inputs, problem.targets, problem.start, aggregator, problem.schedule
    )
    rows = []
    for seed in track(range(len(problem.start)), description=title):
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
    return pd.DataFrame(rows)


def paper_size(n_seeds: int, parts: Path) -> Iterator[pd.DataFrame]:
    """One table per seed and aggregator."""
    for seed in range(n_seeds):
        for method, threshold in PAPER_AGGREGATORS:
            part = parts / f"paper-{method}-{threshold}-{seed}.csv"
            yield _kept(part, partial(_score_paper, seed, method, threshold))


def _score_paper(seed: int, method: str, threshold: float | None) -> pd.DataFrame:
    solution = train_network(seed, method, threshold)
    expansions = solution.expansions()
    known: dict[str, Any] = {
        "problem": f"spirals, {len(solution.theta)} parameters",
        "aggregator": method,
        "agreement_threshold": threshold,
        "seed": seed,
        "steps": solution.steps,
        "test_name": "test accuracy",
        "test": solution.test_accuracy,
        **risks_at(solution.losses, solution.theta),
    }
    rows = []
    for epsilon, damping in SETTINGS:
        score = score_expansions(expansions, epsilon, damping)
        rows.append(known | described(score, epsilon, damping))
    row = rows[0]
    print(
        f"{method} {threshold} seed {seed}: test {row['test']:.3f}, risk {row['train_risk']:.4f}, "
        f"inconsistency {row['inconsistency'] / row['epsilon']:.1f} epsilon",
        flush=True,
    )
    return pd.DataFrame(rows)


def _kept(part: Path, compute: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """The table of a part, computed unless an earlier call left it."""
    if not part.exists():
        write_text(part, compute().to_csv(index=False))
    return pd.read_csv(part)


if __name__ == "__main__":
    run_command(main)
