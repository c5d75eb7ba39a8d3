"""The ablations on Hopper, for figure 4.9 and its claim."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.results import LABELS, curves

WHOLE = "distilled"
"""The beginning of the names of the cases in which nothing is left out."""
FROZEN, SHUFFLED, REDRAWN = "frozen random teacher (FT)", "time shuffled (PT)", "split redrawn (AR)"
"""Names of cases, with the thesis's letters in brackets."""

UNROLLED = 24
"""The number of unrolled steps of a case whose name does not say another number."""


def noisy(frames: int) -> str:
    """Return the name of the case in which the last ``frames`` of 16 frames are noise."""
    return f"last {frames} of 16 frames noise (RT-{frames})"


def ablations(results: Path) -> pd.DataFrame:
    """Return one row per case and seed: the ``lowest`` test error within the first ``steps`` steps.

    ``steps`` is the same number for all cases.
    """
    rows = pd.concat([curves(results, "mujoco"), curves(results, "ablations")], ignore_index=True)
    rows = rows[rows["dataset.environment"] == "Hopper-v4"].copy()
    rows["case"] = [_case(row) for _, row in rows.iterrows()]
    steps = int(rows.groupby("case").step.max().min())
    lowest = rows[rows.step <= steps].groupby(["case", "seed"])["test/mse"].min()
    return lowest.rename("lowest").reset_index().assign(steps=steps)


def _case(run: pd.Series) -> str:
    """Return the name of the case, which says what is left out."""
    if run.row == "random":
        return FROZEN
    if run.row not in ("fixed", "redrawn"):
        return LABELS[str(run.row)]
    case = WHOLE if run.row == "fixed" else REDRAWN
    if run["dataset.shuffled_time"]:
        case = SHUFFLED
    if run["dataset.noise_frames"]:
        case = noisy(int(run["dataset.noise_frames"]))
    unrolled = run["teaching.n_inner"]
    return case if unrolled == UNROLLED else f"{case}, {unrolled} steps unrolled"
