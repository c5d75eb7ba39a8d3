"""A table: the mask's best configurations on new seeds, compared with Adam's and with themselves, no mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.coinrun.finalists import comparisons, corrected, read_finalists_means
from lab.experiments.coinrun.trials import METHODS, UNMASKED

NAMES = {**METHODS, UNMASKED: "mask's settings, no mask"}


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per budget and other method: both mean divergences, and their difference.

    All numbers of a row come from the same file, and are of all test states.
    """
    means = read_finalists_means(results).groupby(["steps", "method"])["test/kl"].mean()
    by_steps = comparisons(results)
    p_values = corrected(by_steps)
    rows = []
    for steps, by_other in by_steps.items():
        for other, found in by_other.items():
            low, high = found.interval
            rows.append(
                {
                    "steps": f"{steps:,}",
                    "compared with": NAMES[other],
                    "mask": f"{means[steps, 'temporal_mask']:.4f}",
                    "other": f"{means[steps, other]:.4f}",
                    "mask - other": f"{found.difference:+.4f}",
                    "95 % interval": f"{low:+.4f} to {high:+.4f}",
                    "p": f"{found.p_value:.2g}",
                    f"p, corrected for {2 * len(by_steps)}": f"{p_values[steps][other]:.2g}",
                }
            )
    return pd.DataFrame(rows)
