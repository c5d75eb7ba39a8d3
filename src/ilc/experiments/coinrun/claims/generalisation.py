"""Section 3.3's claim, with a verdict that the numbers decide."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.coinrun.trials import PAPER_BEST, TOP, counts, read_trials
from ilc.figures.claims import Claim


def claims(results: Path) -> list[Claim]:
    """Figure 10, from the trials of both searches."""
    trials = read_trials(results)
    top = trials[trials["rank"] <= TOP].groupby("aggregator").lowest
    best, median = top.min(), top.median()
    claim = Claim(
        short="The temporal mask generalises better than Adam",
        claim="CoinRun: the temporal AND-mask generalises better than Adam (figure 10)",
        paper="minimum test KL of the top-10 runs of two searches of 1,024 trials is lower with the mask; "
        f"the best {PAPER_BEST:.5f} (table 3)",
        ours=f"best {_against(best)}; median of the top {TOP} {_against(median)}; {counts(results)}, "
        "one seed each, chosen on test data; easy levels, which differ in layout alone",
        number=f"{median['temporal_mask'] / median['mean']:.3f} x Adam's median test KL",
        verdict=_verdict(lower(best), lower(median)),
    )
    return [claim]


def lower(values: pd.Series) -> bool:
    """Whether the mask's value lies below Adam's."""
    return bool(values["temporal_mask"] < values["mean"])


def _against(values: pd.Series) -> str:
    return f"{values['temporal_mask']:.4f} against {values['mean']:.4f} for Adam"


def _verdict(*found: bool) -> str:
    if all(found):
        return "reproduced at small scale"
    return "undecided" if any(found) else "not reproduced"
