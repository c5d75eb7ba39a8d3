"""A table: the accuracy of nine configurations of each method on the room runner, and the chosen one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.skip_intervals.results import METHODS, SCORE, trials


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per method that was searched."""
    rows = []
    for method, own in trials(results).items():
        scores, best = 100 * own[SCORE], own[own.chosen].iloc[0]
        rows.append(
            {
                "method": METHODS[method],
                "architecture": best["simulator.architecture"],
                "kernels": best["simulator.kernels"],
                "learning rate": float(best["stages.lr"].strip("[]").partition(",")[0]),
                "true inputs fade out over": f"{100 * best['sampling.length']:g} % of training",
                "horizon": _or_none(best.get("horizon")),
                "exploration": _or_none(best.get("exploration.share")),
                "hard accuracy of the best": f"{scores.max():.1f}",
                "median (range) of all": f"{scores.median():.1f} ({scores.min():.1f} to {scores.max():.1f})",
                "trials": len(own),
            }
        )
    return pd.DataFrame(rows)


def _or_none(value: float | None) -> str:
    """Return a setting that not every method has."""
    return "" if value is None else f"{value:g}"
