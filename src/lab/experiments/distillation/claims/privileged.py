"""The claim about noisy privileged data: a teacher saves examples."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.results import DIMENSIONS, FIGURE_4_3, runs
from lab.figures.claims import Claim
from lab.figures.style import median_and_range

D, N = 128, 512
"""The cell that the claim quotes; a student without a teacher is far from learning it."""


def claims(results: Path) -> list[Claim]:
    """Return the claim on task A, from ``distillation/privileged_runs.csv``."""
    table = runs(results, "privileged")
    cell = table[(table["dataset.dimensions"] == D) & (table.n_train == N)]
    best = {str(row): chosen["best/test/accuracy"] for row, chosen in cell.groupby("row")}
    plain, distilled = best["no_teacher"], best["redrawn"]
    fixed = f"; distilled, split fixed {median_and_range(best['fixed'])}" if "fixed" in best else ""
    published = {name: values[N][DIMENSIONS.index(D)] for name, values in FIGURE_4_3.items()}
    reproduced = plain.median() <= 0.56 and distilled.median() >= 0.93
    better = distilled.min() > plain.max()
    return [
        Claim(
            short="A learned teacher saves examples",
            claim="In task A of distilling trajectories, a student with a teacher needs far fewer examples "
            "(thesis, figure 4.3).",
            paper=f"With D = {D} dimensions and {N} examples the test accuracy is "
            f"{100 * published['no_teacher']:.0f} % without a teacher and {100 * published['distill']:.0f} % "
            "with one (authors' drawing, best on test data, 5 seeds).",
            ours=f"With D = {D} dimensions and {N} examples the best test accuracy in % over training "
            f"(oracle) is: no teacher {median_and_range(plain)}; distilled, split redrawn "
            f"{median_and_range(distilled)}{fixed}. The numbers are medians and ranges over n = "
            f"{len(distilled)} seeds. {_others(table)}",
            number=f"{100 * distilled.median():.1f} % with a teacher, {100 * plain.median():.1f} % without",
            verdict="reproduced" if reproduced else "in part" if better else "not reproduced",
        )
    ]


def _others(table: pd.DataFrame) -> str:
    """Return in how many other cells the teacher helps: by the medians, and by at least five points."""
    cells = table.pivot_table(
        index=["dataset.dimensions", "n_train"], columns="row", values="best/test/accuracy", aggfunc="median"
    ).dropna(subset=["no_teacher", "redrawn"])
    helped = int((cells.redrawn - cells.no_teacher >= 0.05).sum())
    return (
        f"By the medians a teacher helps by five points or more in {helped} of {len(cells)} pairs of D and "
        "number of examples."
    )
