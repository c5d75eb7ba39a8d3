"""The appendix's claim: weight decay as a second update improves the mask and Adam."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import mannwhitneyu

from lab.experiments.coinrun.trials import METHODS, TOP, read_trials
from lab.figures.claims import Claim
from lab.figures.two_groups import Difference, signs
from lab.figures.verdicts import reproduced

STARTUP = 10
"""The number of trials at the start of a search that TPE draws at random, which is Optuna's default.

All later trials are drawn near good ones. So among those the trials with and without the second update differ
in all other settings too, and comparing them says nothing about the update.
"""
LIMIT = "with small students"


def claims(results: Path) -> list[Claim]:
    """Return the claim on weight decay, from the trials of both searches."""
    trials = read_trials(results)
    found, parts = {}, []
    for method, name in METHODS.items():
        own = trials[trials.method == method]
        random = own[own.number < STARTUP]
        with_it, without = by_switch(random)
        found[method] = Difference(without.median() - with_it.median(), mannwhitneyu(with_it, without).pvalue)
        every = by_switch(own)
        parts.append(
            f"{name}: the median is {with_it.median():.4f} with it ({len(with_it)} trials) and "
            f"{without.median():.4f} without it ({len(without)} trials), p = {found[method].p_value:.2g}; "
            f"of all trials {len(every[0])} have it and {len(every[1])} do not, and "
            f"{by_switch(own[own['rank'] <= TOP])[0].size} of the {TOP} best have it."
        )
    p_values = [difference.p_value for difference in found.values()]
    claim = Claim(
        short="Separate weight decay helps the mask and Adam",
        claim="On CoinRun, weight decay as a second, independent update improves the mask and Adam "
        "(appendix).",
        paper="This weight decay improved performance with the mask, and with Adam.",
        ours=f"We compare the validation KL of the first {STARTUP} trials of each search, which are drawn at "
        f"random, with and without this weight decay (two-sided Mann-Whitney test). "
        f"{' '.join(parts)} The later trials are drawn near good ones, so they "
        "are no comparison.",
        number="p = " + " and ".join(f"{p:.2g}" for p in p_values) + f", {STARTUP} random trials each",
        verdict=verdict(found, LIMIT),
    )
    return [claim]


def by_switch(trials: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return the validation KL of the trials with and of those without the second update."""
    on = trials["optimizer.decoupled"].astype(bool)
    return trials[on]["validation/kl"], trials[~on]["validation/kl"]


def verdict(found: dict[str, Difference], limit: str = "") -> str:
    """Return the verdict on the random trials of both searches.

    A difference counts if its p value, corrected for the number of searches (Holm), is below 0.05.
    Reproduced: the update helps in every search. In part: it helps in one of them, and does not hurt in the
    other. Not reproduced: it hurts in one of them. Undecided: there is no difference that counts.

    Args:
        found: for each search the median validation KL without the second update minus that with it; above 0
            it helps.
        limit: how our setting differs from the paper's, in words. With a limit, what is reproduced is so in
            part.
    """
    sure = dict(zip(found, signs(list(found.values())), strict=True))
    helps = [name for name, sign in sure.items() if sign > 0]
    if -1 in sure.values():
        return "not reproduced: it hurts"
    if len(helps) == len(found):
        return reproduced(limit)
    if helps:
        return f"in part: for {helps[0].replace('_', ' ')}"
    return "undecided: too few trials that differ in nothing else"
