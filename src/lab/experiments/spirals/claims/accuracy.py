"""The claims about the accuracy of section 3.1's methods, with verdicts that the numbers decide."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import (
    AND_MASKS,
    BASELINES,
    CHANCE,
    EPOCHS,
    LEVEL,
    METHODS,
    PERFECT,
    as_in_the_paper,
    chance_p_value,
    read_methods,
    read_trials,
    trials_each,
)
from lab.experiments.spirals.readings import CHOSEN
from lab.figures.claims import Claim
from lab.figures.style import median_and_range


def claims(results: Path) -> list[Claim]:
    """Return the claims on figure 6, from ``spirals/methods`` and ``spirals/search``."""
    runs = read_methods(results, "runs")
    test = {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}
    return [_masks(test), _baselines(test, trials_each(results)), _robustness(results, test)]


def _masks(test: dict[str, pd.Series]) -> Claim:
    last = AND_MASKS[-1]
    return Claim(
        short="The AND-mask learns the spirals' mechanism",
        claim="On the spirals the AND-mask learns the mechanism (figure 6).",
        paper="The AND-mask is the only method with perfect test accuracy (50 seeds).",
        ours=_each(test, AND_MASKS),
        number=f"{100 * test[last].median():.1f} % test accuracy ({last})",
        verdict=_share([label for label in AND_MASKS if as_in_the_paper(label, test[label])], AND_MASKS),
    )


def _baselines(test: dict[str, pd.Series], trials: str) -> Claim:
    highest = max(test[label].median() for label in BASELINES)
    above = [label for label in BASELINES if not as_in_the_paper(label, test[label])]
    p_values = ", ".join(f"{label} {chance_p_value(test[label]):.1g}" for label in BASELINES)
    excess = 100 * (highest - CHANCE)
    return Claim(
        short="Every baseline's best trial stays at chance",
        claim=f"On the spirals the best of {trials} trials of every baseline stays at chance (figure 6).",
        paper="No baseline is significantly better than chance.",
        ours=f"{_each(test, BASELINES)} A one-sided t test compares each baseline with chance, which is "
        f"{100 * CHANCE:.0f} %. The p values are: {p_values}. A baseline is significantly better than chance "
        f"if its p value is below {LEVEL / len(BASELINES):.2g}. This is {LEVEL:g} divided by the number of "
        f"baselines, {len(BASELINES)}.",
        number=f"{100 * highest:.1f} % test accuracy at most",
        verdict="reproduced"
        if not above
        else f"in part: {len(above)} of {len(BASELINES)} are above chance, by at most {excess:.1f} points",
    )


def _robustness(results: Path, test: dict[str, pd.Series]) -> Claim:
    """Return the claim on robustness.

    It counts the random configurations that succeed, and the new seeds of the best one that do.
    """
    names = {label: name for name, label in METHODS.items()}
    parts, shares, seeds = [], {}, {}
    for label in AND_MASKS:
        trials = read_trials(results, names[label])
        reached = trials[trials.state == "COMPLETE"]["test/accuracy"] >= PERFECT
        shares[label] = reached.mean()
        seeds[label] = f"{(test[label] >= PERFECT).sum()} of {len(test[label])} seeds"
        parts.append(f"{label}: {reached.sum()} of {len(reached)} trials, then {seeds[label]}")
    unregularized, *regularized = AND_MASKS
    return Claim(
        short="L1 or L2 makes the AND-mask robust",
        claim="On the spirals the AND-mask is most robust together with L1 or L2.",
        paper="The AND-mask with L1 or L2 has the most robust results overall.",
        ours=f"We count the trials of each search that reach at least {100 * PERFECT:.0f} % test accuracy, "
        f"and then the new seeds of the best trial that reach it. {'; '.join(parts)}.",
        number=f"{seeds[regularized[-1]]} reach {100 * PERFECT:.0f} % ({regularized[-1]})",
        verdict=_share(
            [label for label in regularized if shares[label] > shares[unregularized]], regularized
        ),
    )


def _each(test: dict[str, pd.Series], labels: list[str]) -> str:
    """Return the test accuracies of some methods in sentences."""
    each = "; ".join(f"{label} {median_and_range(test[label])}, n = {len(test[label])}" for label in labels)
    return (
        f"Test accuracy in %: {each}. The numbers are medians and ranges over new seeds, with "
        f"{CHOSEN.revolutions:g} revolutions and {EPOCHS} epochs."
    )


def _share(reached: list[str], labels: list[str]) -> str:
    if len(reached) == len(labels):
        return "reproduced"
    return f"partly: for {' and '.join(reached)}" if reached else "not reproduced"
