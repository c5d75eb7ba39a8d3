"""The claim about the returns of MuJoCo's Hopper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.drawing import spread
from lab.experiments.distillation.results import LABELS, TABLE_C_7, lowest_within, mujoco
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.two_groups import Difference, signs, welch
from lab.figures.verdicts import reproduced

BAR = 0.75
"""The bound on the distilled error relative to the best error without a teacher. In the thesis this ratio
is 0.59 (and 0.49 relative to plain training)."""
LIMIT = "with a reduced teacher, settings not searched"
WITHOUT = ("no_teacher", "auxiliary")


def claims(results: Path) -> list[Claim]:
    """Return the claim on Hopper, from ``distillation/mujoco_runs.csv`` and ``mujoco_curves.csv``."""
    of_hopper = (
        table[table.environment == "Hopper"] for table in (mujoco(results, "runs"), mujoco(results, "curves"))
    )
    return [_hopper(*of_hopper)]


def _hopper(table: pd.DataFrame, curves: pd.DataFrame) -> Claim:
    best = {str(row): chosen["best/test/mse"] for row, chosen in table.groupby("row")}
    last = {str(row): chosen["test/mse"] for row, chosen in table.groupby("row")}
    steps = table.groupby("row").step.max()
    rival = min(WITHOUT, key=lambda row: best[row].median())
    ratio = best["fixed"].median() / best[rival].median()
    better, frozen = welch(best["fixed"], best[rival]), welch(best["random"], best["no_teacher"])
    early = min(lowest_within(curves, row, steps["fixed"]).median() for row in WITHOUT)
    published = TABLE_C_7["Hopper"]
    rows = [
        {
            "students": LABELS[row],
            "steps": str(steps[row]),
            "lowest test error": spread(best[row], 5),
            "last test error": spread(last[row], 5),
        }
        for row in (*WITHOUT, "random", "fixed")
    ]
    return Claim(
        short="Distilled trajectories predict Hopper's returns better",
        claim="On MuJoCo's Hopper the student predicts returns better with a teacher that sees the "
        "trajectory (thesis, table C.7). With a teacher that stays as it begins it does not (figure 4.9).",
        paper=f"The lowest test error is {published['no_teacher']:.5f} with neither teacher nor auxiliary "
        f"task, {published['auxiliary']:.5f} with an auxiliary task and {published['distill']:.5f} for "
        "distilled students (8 runs). With a frozen teacher the student essentially fails to learn.",
        ours="The table has the lowest test error over training (oracle) and the last one, medians and "
        f"ranges over n = {len(best['fixed'])} seeds of networks and batches, which share one collection of "
        f"play. Within {steps['fixed']} steps the best error without a teacher is {early:.5f}. By Welch's "
        f"test the p values are {better.p_value:.2g} (distilled against the best without a teacher) and "
        f"{frozen.p_value:.2g} (frozen teacher against none), uncorrected. The teacher is a reduced one.",
        table=as_markdown(rows),
        number=f"{ratio:.2f} times the best error without a teacher",
        verdict=verdict(ratio, better, frozen, LIMIT),
    )


def verdict(ratio: float, better: Difference, frozen: Difference, limit: str = "") -> str:
    """Return the verdict that a teacher lowers the error, and that a frozen teacher does not.

    A difference counts if its p value, corrected for both (Holm), is below 0.05. Reproduced: the error with a
    teacher is at most three quarters of the best error without one, and higher with a frozen teacher than
    without. In part: it is lower by less, or the frozen teacher helps too, or that is open. Not reproduced:
    it is higher with a teacher. Undecided: it is not told apart.

    Args:
        ratio: the median error of distilled students, divided by the best median without a teacher.
        better: the error of distilled students minus the best error without a teacher.
        frozen: the error with a frozen teacher minus the error without one.
        limit: how our setting differs from the thesis's, in words. With a limit, what is reproduced is so in
            part.
    """
    of_teacher, of_frozen = signs([better, frozen])
    if of_teacher >= 0:
        return "not reproduced" if of_teacher else "undecided"
    if ratio > BAR:
        return "in part: better by less than a quarter"
    if of_frozen < 1:
        return (
            "in part: a frozen teacher helps too" if of_frozen else "in part: open whether a frozen one helps"
        )
    return reproduced(limit)
