"""Runs and curves on the Game of Life, which figure 4.6 and its claim share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.results import curves, runs

THESIS = 3, 17
"""The thesis's game: its number of steps, and its number of cells per side."""

EVEN = 0.5
"""A bound on the standard deviation of a teacher's initial attention. Below it the teacher hardly prefers
any board."""

ROWS = "no_teacher", "random even", "random spread", "learned even", "learned spread", "oracle"


def game_of_life(results: Path, kind: str) -> pd.DataFrame:
    """Read the ``runs`` or ``curves`` and add two columns.

    The column ``row`` holds one of ``ROWS``. The column ``game`` holds the game's steps and cells per side.
    """
    read = {"runs": runs, "curves": curves}[kind]
    names = ("game_of_life", "game_of_life_whole")
    table = pd.concat([read(results, name) for name in names], ignore_index=True)
    table["game"] = list(zip(table["dataset.steps"], table["dataset.size"], strict=True))
    table["row"] = [_row(row) for _, row in table.iterrows()]
    return table


def _row(run: pd.Series) -> str:
    if run.row in ("no_teacher", "oracle"):
        return str(run.row)
    begun = "even" if run["dataset.attention_scale"] < EVEN else "spread"
    return f"{'random' if run.row == 'random' else 'learned'} {begun}"
