"""A table: the results of the default commands of section 3.2 on the embedded images."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.results import NOISE, THRESHOLD, pending, runs_of
from lab.figures.style import median_and_range

NAME = "default"
PLAIN = "aggregator.agreement_threshold=0"
COMMANDS = (
    ("experiment=cifar_random_labels", "cifar_random_labels", 1.0, 0.2),
    (f"experiment=cifar_random_labels {PLAIN}", "cifar_random_labels", 1.0, 0.0),
    ("experiment=cifar_random_labels dataset.label_noise=0", "cifar_random_labels", 0.0, 0.2),
    (f"experiment=cifar_random_labels dataset.label_noise=0 {PLAIN}", "cifar_random_labels", 0.0, 0.0),
    ("experiment=cifar_label_noise", "cifar_label_noise", 0.25, 0.2),
    ("experiment=cifar_label_noise aggregator=mean", "cifar_label_noise", 0.25, None),
)
"""The options of each command, and the values that its runs are found by.

These values are experiment, label noise and threshold. The threshold is None for plain training."""
WRONG = "train/accuracy_mislabeled"


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per command: median and range over seeds at the last epoch in per cent, and minutes."""
    runs = runs_of(results, NAME)
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, NAME)}])
    rows = []
    for options, experiment, noise, threshold in COMMANDS:
        of_noise = runs[(runs.experiment == experiment) & (runs[NOISE] == noise)]
        is_same = of_noise[THRESHOLD].isna() if threshold is None else of_noise[THRESHOLD] == threshold
        chosen = of_noise[is_same]
        if chosen.empty:
            continue
        wrong = chosen.get(WRONG, pd.Series(dtype=float)).dropna()
        rows.append(
            {
                "command": f"`python src/train.py {options}`",
                "seeds": len(chosen),
                "train": median_and_range(chosen["train/accuracy"]),
                "wrong labels fitted": median_and_range(wrong) if len(wrong) else "",
                "test": median_and_range(chosen["test/accuracy"]),
                "minutes": f"{chosen.wall_seconds.median() / 60:.1f}",
            }
        )
    return pd.DataFrame(rows)
