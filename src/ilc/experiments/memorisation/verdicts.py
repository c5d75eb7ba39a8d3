"""How the claims of section 3.2 say what became of them."""

from __future__ import annotations

import pandas as pd


def in_seeds(holds: pd.Series) -> str:
    """``4 of 5 seeds``: in how many of the seeds it holds."""
    return f"{int(holds.sum())} of {len(holds)} seeds"


def verdict(holds: bool, in_part: bool, n_seeds: int) -> str:
    """The verdict on a claim that was looked at on procedural images; fewer than three seeds are named."""
    few = "" if n_seeds >= 3 else f", {n_seeds} seed{'s' if n_seeds > 1 else ''}"
    if holds:
        return f"pattern reproduced on a stand-in{few}"
    return f"{'in part' if in_part else 'not reproduced'}, on a stand-in{few}"
