"""The effect of more Lanczos steps on the score of the paper-size spirals network, and their cost.

One solution of the mean and one of the AND-mask are scored with several numbers of steps. Both have seed 0,
32 environments of 1,280 examples and 141,058 parameters.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import pandas as pd

from ilc.consistency._large import expand
from ilc.consistency._second_order import score_expansions
from lab.experiments.measurement import Parts, Tables
from lab.experiments.theory.spirals_at_paper_size import train_network
from lab.machine.seeding import generator_for

METHODS = ("mean", "and_mask")
EPSILON = 0.01


def parts(steps: Sequence[int] = (20, 60)) -> Parts:
    """Return the parts of ``theory/hessian_vector.csv``: one per aggregator.

    Each part takes two to four minutes.

    Args:
        steps: the numbers of Lanczos steps per environment.
    """
    return {method: partial(_measure, method, tuple(steps)) for method in METHODS}


def _measure(method: str, steps: tuple[int, ...]) -> Tables:
    rows = []
    solution = train_network(0, method)
    for lanczos_steps in steps:
        began = time.process_time()
        generator = generator_for(0, "lanczos")
        expansions = [expand(loss, solution.theta, lanczos_steps, generator) for loss in solution.losses]
        expanded = time.process_time() - began
        for damping in (1e-1, 1e-2, 1e-3):
            began = time.process_time()
            score = score_expansions(expansions, EPSILON, damping)
            rows.append(
                {
                    "aggregator": method,
                    "lanczos_steps": lanczos_steps,
                    "damping": damping,
                    "inconsistency": score.inconsistency / EPSILON,
                    "median_gap": float(score.gaps.median()) / EPSILON,
                    # This is the CPU time of one thread, so that other work on the machine does not count.
                    "cpu_seconds": expanded + time.process_time() - began,
                }
            )
    return {"theory/hessian_vector.csv": pd.DataFrame(rows)}
