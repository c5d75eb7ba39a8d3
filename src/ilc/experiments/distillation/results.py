"""What the figures and claims of distilled trajectories share: tables by replica, published values."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

FOLDER = Path("distillation")

FIGURE_4_3 = {
    "no_teacher": {
        128: (0.53, 0.52, 0.51, 0.50),
        256: (0.55, 0.53, 0.52, 0.51),
        512: (0.66, 0.54, 0.52, 0.50),
        1024: (0.89, 0.66, 0.52, 0.50),
    },
    "distill": {
        128: (0.79, 0.55, 0.53, 0.53),
        256: (0.95, 0.88, 0.55, 0.54),
        512: (0.98, 0.97, 0.95, 0.62),
        1024: (0.98, 0.98, 0.97, 0.95),
    },
}
"""Test accuracy by examples, for D = 64, 128, 256, 512, read off the authors' drawing to about .01."""

DIMENSIONS = (64, 128, 256, 512)

_REPLICA = re.compile(r"(best/)?n(\d+)/seed(\d+)/(train|test)/(\w+)")


def by_replica(table: pd.DataFrame) -> pd.DataFrame:
    """A row per run (or evaluation) and replica, from columns ``nN/seedS/SPLIT/MEASURE``.

    Columns ``n_train`` and ``seed`` are the replica's; measures are ``SPLIT/MEASURE``, and
    ``best/SPLIT/MEASURE`` where the table has them. Everything else is the run's.
    """
    parts = {column: match for column in table if (match := _REPLICA.fullmatch(str(column)))}
    shared = table.drop(columns=[*parts, "seed"], errors="ignore")
    shared = shared.drop(columns=[c for c in shared if str(c).split("/")[0] in ("train", "test")])
    replicas: dict[tuple[int, int], dict[str, str]] = {}
    for column, match in parts.items():
        best, n, seed, split, measure = match.groups()
        replicas.setdefault((int(n), int(seed)), {})[column] = f"{best or ''}{split}/{measure}"
    frames = []
    for (n, seed), columns in replicas.items():
        values = table[list(columns)].rename(columns=columns)
        # Of runs with other replicas the columns are empty.
        rows = pd.concat([shared, values], axis=1)[values.notna().any(axis=1)]
        frames.append(rows.assign(n_train=n, seed=seed))
    return pd.concat(frames, ignore_index=True)
