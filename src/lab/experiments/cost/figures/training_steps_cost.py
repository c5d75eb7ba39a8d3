"""A table: milliseconds of a whole training step of section 3.2's network at small widths."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.ways import PLAIN


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per size: each way's milliseconds, and the votes' time as a multiple of threshold 0's."""
    costs = pd.read_csv(results / "cost" / "training_steps.csv")
    rows = []
    for size, chosen in costs.groupby("size", sort=False):
        times = chosen.set_index("way").milliseconds
        rows.append(
            {
                "width, images": size,
                "PyTorch loop": f"{times[PLAIN]:.1f}",
                "threshold 0": f"{times['threshold 0']:.1f}",
                "votes": f"{times['votes']:.1f}",
                "votes / threshold 0": f"{times['votes'] / times['threshold 0']:.2f} x",
            }
        )
    return pd.DataFrame(rows)
