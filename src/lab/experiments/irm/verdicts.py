"""The words of the verdicts on the claims about Colored MNIST."""

from __future__ import annotations

import math
from pathlib import Path

from lab.experiments.irm.results import pending
from lab.figures.claims import Claim
from lab.figures.pending import number_of_runs

FEWER_IMAGES = "with fewer images"
"""The limit of what has 5,000 images in each environment."""
ANOTHER_NETWORK = "with another network"
"""The limit of what has the source's images and steps, but a network with other units, outputs or weights."""


def most(share: float, n: int) -> str:
    """Return ``yes`` or ``no``: whether a share of ``n`` seeds is above a half.

    The answer is ``open`` if the share lies within two standard errors of a half.
    """
    if abs(share - 0.5) <= 2 * math.sqrt(share * (1 - share) / n):
        return "open"
    return "yes" if share > 0.5 else "no"


def judged(claim: Claim, kind: str, results: Path, study: str, limit: str = "") -> Claim:
    """Return the claim with its verdict, which is pending while runs of its study are missing.

    Args:
        claim: its ``ours`` and ``number`` may be empty.
        kind: ``reproduced``, ``in part``, ``not reproduced`` or ``undecided``, perhaps with words after it.
        results: the folder of committed CSV files.
        study: the study whose runs must be done.
        limit: how our setting differs from the source's, in words. With a limit, what is reproduced is so in
            part.
    """
    unfinished = pending(results, study)
    if unfinished:
        ours = f"{claim.ours} Done so far: " if claim.ours else "There is no number yet: "
        number = number_of_runs(unfinished)
        return claim._replace(ours=f"{ours}{unfinished}.", number=number, verdict=f"pending: {unfinished}")
    if limit and kind == "reproduced":
        return claim._replace(verdict=f"in part: {limit}")
    return claim._replace(verdict=f"{kind}, {limit}" if limit else kind)
