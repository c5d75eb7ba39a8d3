"""Tables by replica and published values, which the figures and claims of distilled trajectories share."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

FOLDER = Path("distillation")

DIMENSIONS = (64, 128, 256, 512)

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
"""The published test accuracy by method and number of examples, for each of ``DIMENSIONS``. The values are
read off the authors' drawing to about .01."""

FIGURE_4_4 = {
    "distill": 0.07,
    "no_teacher": 1.05,
    "entropy 0.1": 0.93,
    "entropy 1": 0.29,
    "entropy 10": 0.46,
}
"""The published test KL after 16 epochs, read off the authors' drawing. The value without a teacher is
between 1.0 and 1.1."""

TABLE_C_7 = {
    "HalfCheetah": {"no_teacher": 0.0485, "auxiliary": 0.0477, "distill": 0.0427},
    "Hopper": {"no_teacher": 0.00270, "auxiliary": 0.00224, "distill": 0.00132},
    "Swimmer": {"no_teacher": 0.0169, "auxiliary": 0.0146, "distill": 0.00964},
    "Walker2d": {"no_teacher": 0.0238, "auxiliary": 0.0211, "distill": 0.0164},
}
"""The published lowest test error over training, from eight runs (thesis)."""

LABELS = {
    "no_teacher": "no teacher",
    "auxiliary": "auxiliary task",
    "entropy 0.1": "entropy bonus 0.1",
    "entropy 1": "entropy bonus 1",
    "entropy 10": "entropy bonus 10",
    "random": "frozen random teacher",
    "oracle": "oracle teacher",
    "fixed": "distilled, split fixed",
    "redrawn": "distilled, split redrawn",
    "random even": "frozen, asks for all boards alike",
    "random spread": "frozen, asks for boards at random",
    "learned even": "distilled, begun with all alike",
    "learned spread": "distilled, begun at random",
}
# The colours are Okabe and Ito's palette. Each row has a line style too, so that it is readable in grey.
COLORS = {
    "no_teacher": "#D55E00",
    "auxiliary": "#009E73",
    "entropy 0.1": "#E69F00",
    "entropy 1": "#009E73",
    "entropy 10": "#CC79A7",
    "random": "#666666",
    "oracle": "#000000",
    "fixed": "#56B4E9",
    "redrawn": "#0072B2",
    "random even": "#999999",
    "random spread": "#666666",
    "learned even": "#56B4E9",
    "learned spread": "#0072B2",
}
STYLES = {
    "auxiliary": "--",
    "entropy 0.1": "--",
    "entropy 1": "-.",
    "entropy 10": ":",
    "random": ":",
    "oracle": "--",
    "fixed": "--",
    "random even": ":",
    "random spread": "-.",
    "learned even": "--",
}

_REPLICA = re.compile(r"((?:best|found)/)?n(\d+)/seed(\d+)/(\w+/\w+)")


def runs(results: Path, name: str) -> pd.DataFrame:
    """Read ``NAME_runs.csv``: one row per run and replica, with a column ``row``, a key of ``LABELS``."""
    return _with_rows(by_replica(pd.read_csv(results / FOLDER / f"{name}_runs.csv")))


def curves(results: Path, name: str) -> pd.DataFrame:
    """Read ``NAME_curves.csv``: one row per evaluation and replica, with ``row``, a key of ``LABELS``."""
    return _with_rows(by_replica(pd.read_csv(results / FOLDER / f"{name}_curves.csv")))


def by_replica(table: pd.DataFrame) -> pd.DataFrame:
    """Turn columns ``nN/seedS/SPLIT/MEASURE`` into one row per run (or evaluation) and replica.

    The columns ``n_train`` and ``seed`` say which replica it is. ``SPLIT/MEASURE``, ``best/SPLIT/MEASURE``
    and ``found/...`` are its values. All other columns belong to the run.
    """
    parts = {str(c): match for c in table if (match := _REPLICA.fullmatch(str(c)))}
    shared = table.drop(columns=[*parts, "seed"], errors="ignore")
    shared = shared.drop(columns=[c for c in shared if str(c).split("/")[0] in ("train", "test", "best")])
    replicas: dict[tuple[int, int], dict[str, str]] = {}
    for column, match in parts.items():
        kind, n, seed, value = match.groups()
        replicas.setdefault((int(n), int(seed)), {})[column] = f"{kind or ''}{value}"
    frames = []
    for (n, seed), columns in replicas.items():
        values = table[list(columns)].rename(columns=columns)
        # These columns are empty in runs that have other replicas.
        there = values.notna().any(axis=1)
        frames.append(pd.concat([shared, values], axis=1)[there].assign(n_train=n, seed=seed))
    return pd.concat(frames, ignore_index=True)


def _with_rows(table: pd.DataFrame) -> pd.DataFrame:
    table["row"] = [_row(run) for _, run in table.iterrows()]
    return table


def _row(run: pd.Series) -> str:
    method = str(run.method)
    if method == "distill":
        return str(run["teaching.split"])
    if method == "fixed_teacher":
        return str(run.get("fixed_teacher", "random"))
    return f"entropy {run['entropy_weight']:g}" if method == "entropy_bonus" else method


def mujoco(results: Path, kind: str) -> pd.DataFrame:
    """Read the runs or curves on MuJoCo's returns, with a column ``environment``."""
    table = {"runs": runs, "curves": curves}[kind](results, "mujoco")
    return table.assign(environment=table["dataset.environment"].str.removesuffix("-v4"))


def lowest_within(curves: pd.DataFrame, row: str, steps: int) -> pd.Series:
    """Return the lowest test error of each seed of this row within the student's first ``steps`` steps."""
    early = curves[(curves.row == row) & (curves.step <= steps)]
    return early.groupby("seed")["test/mse"].min()
