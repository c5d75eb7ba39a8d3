"""A table: the time of a step with adaptive and with fixed steps, at equal numbers of model evaluations."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.skip_intervals.results import DOMAINS, FOLDER


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per domain and stage of training."""
    rows = []
    for row in pd.read_csv(results / FOLDER / "step_cost.csv").itertuples():
        rows.append(
            {
                "domain": DOMAINS[str(row.dataset)],
                "calls per window": row.calls,
                "windows": row.batch,
                "horizon": row.horizon,
                "adaptive, ms": f"{row.adaptive_ms:.1f}",
                "fixed, ms": f"{row.fixed_ms:.1f}",
                "ratio (quartiles)": f"{row.ratio:.3f} ({row.ratio_lower:.3f} to {row.ratio_upper:.3f})",
            }
        )
    return pd.DataFrame(rows)
