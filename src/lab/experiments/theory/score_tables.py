"""Tables that compare the methods of the consistency score with the exact one, ``quadratic``."""

from __future__ import annotations

import pandas as pd

EXACT = "quadratic"


def compared(scores: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Return a row per value of a setting: median and range over seeds of scores, and of their ratios."""
    by_seed = scores.pivot_table("score", [setting, "seed"], "method", sort=False)
    others = [method for method in scores.method.unique() if method != EXACT]
    rows = []
    for value, group in by_seed.groupby(level=setting, sort=False):
        row = {setting: f"{value:g}", "n": len(group)}
        for method in (EXACT, *others):
            row[f"`{method}`"] = _median_and_range(group[method], "{:#.3g}")
        for method in others:
            row[f"`{method}` / `{EXACT}`"] = _median_and_range(group[method] / group[EXACT], "{:.2f}")
        rows.append(row)
    return pd.DataFrame(rows)


def _median_and_range(values: pd.Series, form: str) -> str:
    middle, low, high = (form.format(value) for value in (values.median(), values.min(), values.max()))
    return f"{middle} ({low} to {high})"
