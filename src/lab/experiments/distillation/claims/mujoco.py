"""The claims about MuJoCo's returns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.drawing import spread
from lab.experiments.distillation.results import LABELS, TABLE_C_7, lowest_within, mujoco
from lab.figures.claims import Claim

BAR = 0.75
"""The bound on the distilled error relative to the best error without a teacher. In the thesis this ratio
is 0.59 (and 0.49 relative to plain training)."""
WITHOUT = ("no_teacher", "auxiliary")


def claims(results: Path) -> list[Claim]:
    """Return the claims on Hopper and on the order of the methods, from ``distillation/mujoco_runs.csv``."""
    made, curves = mujoco(results, "runs"), mujoco(results, "curves")
    return [_hopper(made[made.environment == "Hopper"], curves[curves.environment == "Hopper"]), _order(made)]


def _hopper(table: pd.DataFrame, curves: pd.DataFrame) -> Claim:
    best = {str(row): chosen["best/test/mse"] for row, chosen in table.groupby("row")}
    last = {str(row): chosen["test/mse"] for row, chosen in table.groupby("row")}
    steps = table.groupby("row").step.max()
    rival = min(WITHOUT, key=lambda row: best[row].median())
    ratio = best["fixed"].median() / best[rival].median()
    early = min(lowest_within(curves, row, steps["fixed"]).median() for row in WITHOUT)
    frozen = best["random"].median() / best["no_teacher"].median()
    published = TABLE_C_7["Hopper"]
    shown = ", ".join(f"{LABELS[row]} {spread(best[row], 5)}" for row in (*WITHOUT, "random", "fixed"))
    won, lost = ratio <= BAR, frozen >= 1
    return Claim(
        short="Distilled trajectories predict Hopper's returns better",
        claim="MuJoCo: with a teacher that sees the trajectory the student predicts returns better (thesis, "
        "table C.7, Hopper), and with one that stays as it begins it does not (figure 4.9)",
        paper=f"lowest test error: no teacher {published['no_teacher']:.5f}, auxiliary task "
        f"{published['auxiliary']:.5f}, distilled {published['distill']:.5f} (8 runs); frozen: the student "
        "essentially fails to learn",
        ours=f"lowest test error over training (oracle): {shown}; distilled within {steps['fixed']} steps of "
        f"the student, the others within {steps[rival]} (within {steps['fixed']} the best without a teacher "
        f"has {early:.5f}); the last: distilled {spread(last['fixed'], 5)}, no teacher "
        f"{spread(last['no_teacher'], 5)}; median and range, n = {len(best['fixed'])} seeds; reduced teacher",
        number=f"{ratio:.2f} x the best error without a teacher",
        verdict="in part: with a reduced teacher"
        if won and lost
        else "in part: a frozen teacher helps too"
        if won
        else "in part: better by less than a quarter"
        if ratio < 1
        else "not reproduced",
    )


def _order(table: pd.DataFrame) -> Claim:
    best = table.pivot_table(index="environment", columns="row", values="best/test/mse", aggfunc="median")
    seeds = table[table.row != "random"].groupby(["environment", "row"]).seed.nunique().min()
    first = best.fixed < best[list(WITHOUT)].min(axis=1)
    whole = first & (best.auxiliary < best.no_teacher)
    everywhere = bool(whole.all()) and len(best) == len(TABLE_C_7)
    highest = table[table.row == "fixed"].groupby("environment")["best/test/mse"].max()
    lowest = table[table.row.isin(WITHOUT)].groupby("environment")["best/test/mse"].min()
    apart = int((highest < lowest).sum())
    shown = "; ".join(
        f"{name} {row.fixed:.4f} / {row.auxiliary:.4f} / {row.no_teacher:.4f}"
        for name, row in best.iterrows()
    )
    return Claim(
        short="Distilled before auxiliary task before no teacher",
        claim="MuJoCo: on every environment the lowest test error is the distilled students', then that with "
        "an auxiliary task, then that without either (thesis, table C.7)",
        paper="distilled / auxiliary / none: "
        + "; ".join(
            f"{name} {row['distill']:.4f} / {row['auxiliary']:.4f} / {row['no_teacher']:.4f}"
            for name, row in TABLE_C_7.items()
        ),
        ours=f"{shown}; medians of the lowest test error over training (oracle), n = {seeds} seeds, reduced "
        f"teacher; {len(best)} of {len(TABLE_C_7)} environments made; on {apart} every distilled seed is "
        "below every other",
        number=f"in this order on {int(whole.sum())} of {len(best)}, distilled first on {int(first.sum())}",
        verdict="in part: with a reduced teacher"
        if everywhere
        else f"in part: {len(best)} of {len(TABLE_C_7)} environments"
        if first.any()
        else "not reproduced",
    )
