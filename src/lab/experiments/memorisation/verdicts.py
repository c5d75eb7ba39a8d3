"""How the claims of section 3.2 say what became of them."""

from __future__ import annotations

import pandas as pd

LIMIT = "on a JPEG copy, with a narrower network"
"""What keeps a verdict of section 3.2 from being that of the paper's own setting."""


def in_seeds(holds: pd.Series) -> str:
    """``4 of 5 seeds``: in how many of the seeds it holds."""
    return f"{int(holds.sum())} of {len(holds)} seeds"


def verdict(holds: bool, in_part: bool, n_seeds: int, unfinished: str = "") -> str:
    """The verdict on a claim.

    Args:
        holds: whether all that the claim says came out.
        in_part: whether some of it did.
        n_seeds: it was looked at with; fewer than three are named.
        unfinished: how many runs are done, where others are pending; then the verdict is open.
    """
    if unfinished:
        return f"pending: {unfinished}"
    few = "" if n_seeds >= 3 else f", {n_seeds} seed{'s' if n_seeds > 1 else ''}"
    if holds:
        return f"pattern reproduced {LIMIT}{few}"
    return f"{'in part' if in_part else 'not reproduced'}, {LIMIT}{few}"
