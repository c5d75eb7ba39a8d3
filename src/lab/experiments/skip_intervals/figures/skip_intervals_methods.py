"""A table: adaptive and fixed steps, with accuracy, share of blank rollouts and cost of a rollout."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.skip_intervals.results import CALLS, DOMAINS, METHODS, SCORE, bar, made, methods_in, runs


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per domain and method."""
    rows = []
    for domain in made(results):
        table = runs(results, domain)
        for method in methods_in(table):
            own = table[table.method == method]
            rows.append(
                {
                    "domain": DOMAINS[domain],
                    "method": METHODS[method],
                    "hard accuracy": _percent(own[SCORE]),
                    "soft accuracy": _percent(own["final/validation/accuracy_soft"]),
                    "blank rollouts": _percent(own["final/validation/blank"]),
                    "best hard accuracy (oracle)": _percent(own["best/validation/accuracy"]),
                    "calls per rollout": f"{own[CALLS].mean():.1f}",
                    "n": own.seed.nunique(),
                    "seeds above the bar": f"{int((own[SCORE] >= bar(table)).sum())} of {len(own)}",
                }
            )
    return pd.DataFrame(rows)


def _percent(values: pd.Series) -> str:
    """Return the mean and the range in per cent, as text."""
    return f"{100 * values.mean():.1f} ({100 * values.min():.1f} to {100 * values.max():.1f})"
