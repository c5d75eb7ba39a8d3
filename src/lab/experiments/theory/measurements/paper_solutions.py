"""Solutions of the spirals at the paper's size, trained and scored by Hessian-vector products."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from ilc.consistency._second_order import score_expansions
from lab.experiments.measurement import Parts, Tables
from lab.experiments.theory.score_rows import SETTINGS, described, risks_at
from lab.experiments.theory.solutions import PAPER_SIZE
from lab.experiments.theory.spirals_at_paper_size import METHODS, train_network


def parts(seeds: int = 10) -> Parts:
    """Return the parts of ``theory/solutions_paper.csv``: one per seed and aggregator.

    Each part takes one to two minutes.

    Args:
        seeds: the number of seeds, which begin with 0.
    """
    return {
        f"seed{seed}-{method}": partial(_score, seed, method) for seed in range(seeds) for method in METHODS
    }


def _score(seed: int, method: str) -> Tables:
    solution = train_network(seed, method)
    expansions = solution.expansions()
    known: dict[str, Any] = {
        "problem": f"spirals, {len(solution.theta)} parameters",
        "aggregator": method,
        "agreement_threshold": METHODS[method],
        "seed": seed,
        "steps": solution.steps,
        "test_name": "test accuracy",
        "test": solution.test_accuracy,
        **risks_at(solution.losses, solution.theta),
    }
    scores = [(score_expansions(expansions, *setting), setting) for setting in SETTINGS]
    return {
        PAPER_SIZE.as_posix(): pd.DataFrame([known | described(score, *setting) for score, setting in scores])
    }
