"""The benchmark's table: three environments, 5 + 5 dimensions, our numbers beside the published ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.linear_unit_tests.results import LABELS, beside_published


def tabulate(results: Path) -> pd.DataFrame:
    """A row per problem and method."""
    table = beside_published(results)
    table = table[(table.n_environments == 3) & (table.spurious_dimensions == 5)]
    rows = []
    for _, run in table.iterrows():
        known = pd.notna(run.published)
        rows.append(
            {
                "problem": run.problem,
                "method": LABELS[run.method],
                "test error": f"{run['test/error']:.3f} ± {run['test/error_std']:.3f}",
                "published": f"{run.published:.3f} ± {run.published_std:.3f}" if known else "",
                "apart, in published deviations": f"{abs(run.apart):.4f}" if known else "",
                "chosen learning rate": f"{run['chosen/lr']:.2g}",
                "theirs": f"{run.chosen_lr:.2g}" if known else "",
                "n": str(run.n_seeds),
            }
        )
    return pd.DataFrame(rows)
