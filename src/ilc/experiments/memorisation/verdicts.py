"""How the claims of section 3.2 say what became of them."""

from __future__ import annotations

import pandas as pd


def in_seeds(holds: pd.Series) -> str:
    """``4 of 5 seeds``: in how many of the seeds it holds."""
    return f"{int(holds.sum())} of {len(holds)} seeds"


def verdict(holds: bool, in_part: bool) -> str:
    """The verdict on a claim that was looked at on procedural images."""
    if holds:
        return "pattern reproduced on a stand-in"
    return "in part, on a stand-in" if in_part else "not reproduced, on a stand-in"
