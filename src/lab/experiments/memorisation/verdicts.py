"""The words of the verdicts on the claims of section 3.2."""

from __future__ import annotations

import pandas as pd

LIMIT = "on a JPEG copy, with a narrower network"
"""The differences between our setting and the paper's. The verdicts of section 3.2 name them."""


def in_seeds(holds: pd.Series) -> str:
    """Return in how many of the seeds ``holds`` is true, in words such as ``4 of 5 seeds``."""
    return f"{int(holds.sum())} of {len(holds)} seeds"


def verdict(holds: bool, in_part: bool, n_seeds: int, unfinished: str = "") -> str:
    """Return the verdict on a claim, in words.

    Args:
        holds: whether everything that the claim says was reproduced.
        in_part: whether a part of it was reproduced.
        n_seeds: the number of seeds. The verdict names it if it is below three.
        unfinished: how many runs are done, in words, if others are pending. Then the verdict is pending.
    """
    if unfinished:
        return f"pending: {unfinished}"
    few = "" if n_seeds >= 3 else f", {n_seeds} seed{'s' if n_seeds > 1 else ''}"
    if holds:
        return f"pattern reproduced {LIMIT}{few}"
    return f"{'in part' if in_part else 'not reproduced'}, {LIMIT}{few}"
