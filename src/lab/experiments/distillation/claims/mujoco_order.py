"""The claim about the order of the methods on all environments of MuJoCo."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.claims.mujoco import LIMIT, WITHOUT
from lab.experiments.distillation.results import TABLE_C_7, mujoco
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.two_groups import Difference, signs, welch
from lab.figures.verdicts import reproduced


def claims(results: Path) -> list[Claim]:
    """Return the claim on the order of the methods, from ``distillation/mujoco_runs.csv``."""
    table = mujoco(results, "runs")
    best = table.pivot_table(index="environment", columns="row", values="best/test/mse", aggfunc="median")
    seeds = table[table.row != "random"].groupby(["environment", "row"]).seed.nunique().min()
    first = best.fixed < best[list(WITHOUT)].min(axis=1)
    whole = first & (best.auxiliary < best.no_teacher)
    found = {
        str(name): (
            welch(of["fixed"], of["auxiliary"]),
            welch(of["auxiliary"], of["no_teacher"]),
        )
        for name, own in table.groupby("environment")
        if {"fixed", *WITHOUT} <= set(of := _by_row(own))
    }
    highest = table[table.row == "fixed"].groupby("environment")["best/test/mse"].max()
    lowest = table[table.row.isin(WITHOUT)].groupby("environment")["best/test/mse"].min()
    apart = int((highest < lowest).sum())
    rows = [
        {
            "environment": name,
            "distilled": f"{row.fixed:.4f}",
            "auxiliary task": f"{row.auxiliary:.4f}",
            "neither": f"{row.no_teacher:.4f}",
            "p, distilled against auxiliary": f"{found[name][0].p_value:.2g}",
            "p, auxiliary against neither": f"{found[name][1].p_value:.2g}",
        }
        for name, row in best.iterrows()
        if name in found
    ]
    claim = Claim(
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
        ours="The table has the lowest test errors over training (oracle), medians over n = "
        f"{seeds} seeds of networks and batches, which share one collection of play. The p values are of "
        "Welch's test (uncorrected). The teacher is a reduced one, with 24 unrolled steps instead of 96 "
        f"outside Hopper. We ran {len(best)} of "
        f"{len(TABLE_C_7)} environments. On {apart} of them every distilled seed is below every other seed.",
        table=as_markdown(rows),
        number=f"by the medians in this order on {int(whole.sum())} of {len(best)} environments, distilled "
        f"lowest on {int(first.sum())}",
        verdict=verdict(found, len(TABLE_C_7), LIMIT),
    )
    return [claim]


def verdict(found: dict[str, tuple[Difference, Difference]], environments: int, limit: str = "") -> str:
    """Return the verdict that the errors have the same order on every environment.

    The order holds where both differences are below 0, and fails where one is above 0. A difference counts if
    its p value, corrected for all of them (Holm), is below 0.05. Reproduced: the order holds on every
    environment. In part: it holds on some. Not reproduced: it holds on none, and fails on some. Undecided: it
    is open on all.

    Args:
        found: by environment the error of distilled students minus that with an auxiliary task, and the
            latter minus that with neither.
        environments: the number of environments of the claim.
        limit: how our setting differs from the thesis's, in words. With a limit, what is reproduced is so in
            part.
    """
    every = signs([difference for pair in found.values() for difference in pair])
    pairs = list(zip(every[::2], every[1::2], strict=True))
    holds, fails = pairs.count((-1, -1)), sum(1 in pair for pair in pairs)
    if holds == environments:
        return reproduced(limit)
    if holds:
        failed = f", reversed on {fails}" if fails else ""
        return f"in part: the order is sure on {holds} of {environments} environments{failed}"
    return "not reproduced" if fails else "undecided"


def _by_row(table: pd.DataFrame) -> dict[str, pd.Series]:
    return {str(row): values["best/test/mse"] for row, values in table.groupby("row")}
