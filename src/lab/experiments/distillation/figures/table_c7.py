"""Thesis, table C.7: test error of each method on MuJoCo's returns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.drawing import spread
from lab.experiments.distillation.mujoco_panels import ROWS
from lab.experiments.distillation.results import LABELS, TABLE_C_7, lowest_within, mujoco


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per environment and method.

    A row has the lowest and the last test error, the gap to the training error, and the published value. The
    baselines train for longer than the distilled students. Their lowest error is therefore given twice:
    within the number of steps of the distilled students, and within all their steps.
    """
    made, curves = mujoco(results, "runs"), mujoco(results, "curves")
    rows = []
    for name, of_environment in made.groupby("environment"):
        over_training = curves[curves.environment == name]
        shared = over_training.groupby("row").step.max().min()
        for row in (row for row in ROWS if row in set(of_environment.row)):
            chosen = of_environment[of_environment.row == row]
            published = TABLE_C_7[str(name)].get("distill" if row == "fixed" else row)
            unrolled = f", {chosen['teaching.n_inner'].iloc[0]} steps unrolled" if row == "fixed" else ""
            rows.append(
                {
                    "environment": f"{name}-v4",
                    "method": LABELS[row]
                    + (", reduced teacher" if row in ("random", "fixed") else "")
                    + unrolled,
                    "lowest, equal steps": spread(lowest_within(over_training, row, shared), 5),
                    "lowest in all": spread(chosen["best/test/mse"], 5),
                    "last": spread(chosen["test/mse"], 5),
                    "last, minus training error": spread(chosen["test/mse"] - chosen["train/mse"], 5),
                    "steps": str(int(chosen.step.iloc[0])),
                    "n": str(len(chosen)),
                    "lowest in the thesis": "" if published is None else f"{published:.5f}",
                }
            )
    return pd.DataFrame(rows)
