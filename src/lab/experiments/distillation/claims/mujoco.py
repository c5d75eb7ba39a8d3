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
    shown = "; ".join(f"{LABELS[row]}: {spread(best[row], 5)}" for row in (*WITHOUT, "random", "fixed"))
    won, lost = ratio <= BAR, frozen >= 1
    return Claim(
        short="Distilled trajectories predict Hopper's returns better",
        claim="On MuJoCo's Hopper the student predicts returns better with a teacher that sees the "
        "trajectory (thesis, table C.7). With a teacher that stays as it begins it does not (figure 4.9).",
        paper=f"The lowest test error is {published['no_teacher']:.5f} with neither teacher nor auxiliary "
        f"task, {published['auxiliary']:.5f} with an auxiliary task and {published['distill']:.5f} for "
        "distilled students (8 runs). With a frozen teacher the student essentially fails to learn.",
        ours=f"The lowest test error over training (oracle) is, by method: {shown}. Distilled students have "
        f"{steps['fixed']} steps, and students without a teacher have {steps[rival]}. Within "
        f"{steps['fixed']} steps the best error without a teacher is {early:.5f}. The last error is "
        f"{spread(last['fixed'], 5)} for distilled students and {spread(last['no_teacher'], 5)} for students "
        "with neither teacher nor auxiliary task. The numbers are medians and ranges over n = "
        f"{len(best['fixed'])} seeds. The teacher is a reduced one.",
        number=f"{ratio:.2f} times the best error without a teacher",
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
        short="Distilling beats auxiliary tasks, which beat no teacher",
        claim="On every environment of MuJoCo distilled students have the lowest test error. The next lowest "
        "is that of students with an auxiliary task, and then that of students with neither (thesis, table "
        "C.7).",
        paper="Lowest test error, distilled / auxiliary / neither: "
        + "; ".join(
            f"{name} {row['distill']:.4f} / {row['auxiliary']:.4f} / {row['no_teacher']:.4f}"
            for name, row in TABLE_C_7.items()
        )
        + ".",
        ours=f"Lowest test error over training (oracle), distilled / auxiliary / neither: {shown}. The "
        f"numbers are medians over n = {seeds} seeds. The teacher is a reduced one. We ran {len(best)} of "
        f"{len(TABLE_C_7)} environments. On {apart} of them every distilled seed is below every other seed.",
        number=f"in this order on {int(whole.sum())} of {len(best)} environments, distilled lowest on "
        f"{int(first.sum())}",
        verdict="in part: with a reduced teacher"
        if everywhere
        else f"in part: {len(best)} of {len(TABLE_C_7)} environments"
        if first.any()
        else "not reproduced",
    )
