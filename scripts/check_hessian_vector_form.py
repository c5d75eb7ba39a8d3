"""Time the score of the paper-size spirals network, and what more Lanczos steps change.

    python scripts/check_hessian_vector_form.py           about ten minutes

writes ``results/consistency/hessian_vector.csv``: one solution of mean and one of the AND-mask (seed 0,
32 environments of 1,280 examples, 141,058 parameters) scored with several numbers of steps.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd
import torch

from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.consistency.examples.spirals_at_paper_size import PAPER_AGGREGATORS, train_network
from ilc.consistency.large import expand
from ilc.consistency.second_order import score_expansions
from ilc.seeding import generator_for

ROOT = Path(__file__).parents[1]
EPSILON = 0.01


def main() -> None:
    """Train both solutions and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[20, 40, 60])
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "consistency")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for method, threshold in PAPER_AGGREGATORS:
        solution = train_network(0, method, threshold)
        for lanczos_steps in arguments.steps:
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
                        # of one thread, so that other work on the machine does not count
                        "cpu_seconds": expanded + time.process_time() - began,
                    }
                )
                print(rows[-1], flush=True)
    path = arguments.results / "hessian_vector.csv"
    write_text(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"))
    print(f"{path}: {len(rows)} rows")


if __name__ == "__main__":
    run_command(main)
