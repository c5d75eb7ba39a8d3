"""A table: the trajectories of both domains in numbers, and the accuracy of shortcuts on them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.skip_intervals.results import FOLDER


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per domain."""
    data = pd.read_csv(results / FOLDER / "data.csv")
    rows = []
    for row in data.to_dict("records"):
        shortcuts = [text.rpartition(": ") for text in str(row["shortcuts"]).split("; ")]
        same = row["same_label_when_perturbed"]
        words = ", ".join(f"{name} {100 * float(value):.1f} %" for name, _, value in shortcuts)
        rows.append(
            {
                "dataset": row["dataset"],
                "pixels": f"{row['height']} x {row['width']}",
                "trajectories (held out)": f"{row['n_train']} ({row['n_validation']})",
                "frames, median (range)": (
                    f"{row['frames_median']:.0f} ({row['frames_least']:.0f} to {row['frames_most']:.0f})"
                ),
                "shortcuts, held out": words,
                "psi on true last frames": f"{100 * row['psi_right']:.1f} %",
                "same label when perturbed": "" if pd.isna(same) else f"{100 * same:.1f} %",
            }
        )
    return pd.DataFrame(rows)
