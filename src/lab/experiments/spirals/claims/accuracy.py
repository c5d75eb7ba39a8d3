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
        claim="spirals: the AND-mask learns the mechanism (figure 6)",
        paper="the only method with perfect test accuracy, 50 seeds",
        ours=f"test accuracy {_each(test, AND_MASKS)}; median and range, new seeds; "
        f"{CHOSEN.revolutions:g} revolutions, {EPOCHS} epochs",
        number=f"{100 * test[last].median():.1f} % test accuracy ({last})",
        verdict=_share([label for label in AND_MASKS if as_in_the_paper(label, test[label])], AND_MASKS),
    )


def _baselines(test: dict[str, pd.Series], trials: str) -> Claim:
    highest = max(test[label].median() for label in BASELINES)
    above = [label for label in BASELINES if not as_in_the_paper(label, test[label])]
    p_values = ", ".join(f"{label} {chance_p_value(test[label]):.1g}" for label in BASELINES)
    excess = 100 * (highest - CHANCE)
    return Claim(
        short="The best of every baseline stays at chance",
        claim=f"spirals: the best of {trials} trials of every baseline stays at chance (figure 6)",
        paper="nothing significantly better than chance",
        ours=f"test accuracy {_each(test, BASELINES)}; median and range, new seeds; "
        f"{CHOSEN.revolutions:g} revolutions, {EPOCHS} epochs; "
        f"one-sided t test against {100 * CHANCE:.0f} %, p: {p_values}; "
        f"significant at {LEVEL / len(BASELINES):.2g}, which is {LEVEL:g} shared among {len(BASELINES)}",
        number=f"{100 * highest:.1f} % test accuracy at most",
        verdict="reproduced"
        if not above
        else f"in part: {len(above)} of {len(BASELINES)} above chance, by at most {excess:.1f} points",
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
        parts.append(f"{label}: {reached.sum()} of {len(reached)} trials, then {seeds[label]} of the best")
    alone, *regularized = AND_MASKS
    return Claim(
        short="L1 or L2 makes the AND-mask robust",
        claim="spirals: the AND-mask is most robust together with L1 or L2",
        paper="most robust results overall",
        ours=f"at least {100 * PERFECT:.0f} % test accuracy: {'; '.join(parts)}",
        number=f"{seeds[regularized[-1]]} at {100 * PERFECT:.0f} % ({regularized[-1]})",
        verdict=_share([label for label in regularized if shares[label] > shares[alone]], regularized),
    )


def _each(test: dict[str, pd.Series], labels: list[str]) -> str:
    return "; ".join(f"{label} {median_and_range(test[label])}, n = {len(test[label])}" for label in labels)


def _share(reached: list[str], labels: list[str]) -> str:
    if len(reached) == len(labels):
        return "reproduced"
    return f"partly: {', '.join(reached)}" if reached else "not reproduced"
