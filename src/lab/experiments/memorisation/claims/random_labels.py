"""The claims of section 3.2 on random labels. ``memorisation/verdicts.py`` has the rules and their dates."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.by_threshold import (
    SMALL,
    STILL_RISING,
    about_seeds,
    last_values,
    late_rise,
    open_claim,
    was_prevented,
)
from lab.experiments.memorisation.results import NOISE, THRESHOLD, curves_of, pending, runs_of
from lab.experiments.memorisation.verdicts import (
    PREVENTED,
    in_seeds,
    limits,
    random_labels_rule,
    verdict,
)
from lab.figures.claims import Claim
from lab.figures.style import median_and_range


def claims(results: Path) -> list[Claim]:
    """Return the claim on random labels, and our finding on the same with GroupNorm."""
    group_norm = _random_labels(results, "random_labels_group_norm", finding=True)._replace(
        short="With GroupNorm a small threshold prevents memorising",
        claim="With GroupNorm the votes are exact. Plain training memorises random labels, and a small "
        f"threshold ({SMALL:g}) prevents it.",
        paper="",
    )
    return [_random_labels(results, "random_labels"), group_norm]


def _compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that the claim compares, and for which it waits: random labels, plain and at 0.2."""
    chosen: pd.DataFrame = runs[runs[THRESHOLD].isin((0.0, SMALL)) & (runs[NOISE] == 1)]
    return chosen


def _random_labels(results: Path, name: str, finding: bool = False) -> Claim:
    """Return the claim on random labels, from the study ``name``."""
    claim = Claim(
        short="A small threshold prevents memorising random labels",
        claim=f"Plain training memorises random labels, and a small threshold ({SMALL:g}) prevents it "
        "(figure 8).",
        paper="Memorisation is quickly hindered as the threshold grows (CIFAR-10). The text names no "
        f"threshold. With wrong labels its best one is {SMALL:g}.",
        ours="",
        number="",
        verdict="",
        finding=finding,
    )
    runs, unfinished = _compared(runs_of(results, name)), pending(results, name, _compared)
    last = last_values(runs, 1.0, "train/accuracy")
    if not {0.0, SMALL} <= set(last):
        return open_claim(claim, unfinished)
    rise = late_rise(curves_of(results, name))
    prevented = was_prevented(last, rise)[SMALL][last[SMALL].notna()]
    return claim._replace(
        ours=f"The training accuracy in % at the last epoch is {median_and_range(last[0.0])} in "
        f"plain training and {median_and_range(last[SMALL])} at {SMALL:g}. Of the latter, at most "
        f"{100 * rise[SMALL].max():.1f} points came at the last learning rate. Memorisation is "
        f"prevented if the accuracy is at most {100 * PREVENTED:.0f} % and less than "
        f"{100 * STILL_RISING:.0f} points of it came at the last learning rate. This is so in "
        f"{in_seeds(prevented)}. The numbers are medians and ranges over {about_seeds(runs)}",
        number=f"{100 * last[SMALL].median():.1f} % training accuracy at threshold {SMALL:g}",
        verdict=verdict(
            random_labels_rule(float(last[0.0].min()), float(last[SMALL].max()), bool(prevented.all())),
            int(last[SMALL].notna().sum()),
            "" if finding else limits(runs),
            unfinished,
            finding,
        ),
    )
