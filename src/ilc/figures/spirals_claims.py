"""Claims about the methods of section 3.1: the paper's value, ours, and a verdict that the numbers decide."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.figures.spirals import (
    AND_MASKS,
    BASELINES,
    CHANCE,
    METHODS,
    NEAR_CHANCE,
    PERFECT,
    SEARCHED_REVOLUTIONS,
    as_in_the_paper,
    read_methods,
    read_trials,
)
from ilc.figures.style import median_and_range


def methods(results: Path) -> list[dict[str, str]]:
    """Figure 6, from ``spirals/methods`` and ``spirals/search``."""
    runs = read_methods(results, "runs")
    test = {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}
    return [_masks(test), _baselines(test), _robustness(results, test)]


def _masks(test: dict[str, pd.Series]) -> dict[str, str]:
    return {
        "claim": "spirals: the AND-mask learns the mechanism (figure 6)",
        "paper": "the only method with perfect test accuracy, 50 seeds",
        "ours": f"test accuracy {_each(test, AND_MASKS)}; median and range, new seeds; "
        f"{SEARCHED_REVOLUTIONS} revolutions",
        "verdict": _share([label for label in AND_MASKS if as_in_the_paper(label, test[label])], AND_MASKS),
    }


def _baselines(test: dict[str, pd.Series]) -> dict[str, str]:
    return {
        "claim": "spirals: the best of 40 trials of every baseline stays at chance (figure 6)",
        "paper": "nothing significantly better than chance",
        "ours": f"test accuracy {_each(test, BASELINES)}; median and range, new seeds; "
        f"{SEARCHED_REVOLUTIONS} revolutions; chance: within "
        f"{100 * NEAR_CHANCE:.0f} points of {100 * CHANCE:.0f} %",
        "verdict": _share([label for label in BASELINES if as_in_the_paper(label, test[label])], BASELINES),
    }


def _robustness(results: Path, test: dict[str, pd.Series]) -> dict[str, str]:
    """How many random configurations succeed, and how many new seeds of the best one."""
    names = {label: name for name, label in METHODS.items()}
    parts, shares = [], {}
    for label in AND_MASKS:
        trials = read_trials(results, names[label])
        reached = trials[trials.state == "COMPLETE"]["test/accuracy"] >= PERFECT
        shares[label] = reached.mean()
        parts.append(
            f"{label}: {reached.sum()} of {len(reached)} trials, then {(test[label] >= PERFECT).sum()} of "
            f"{len(test[label])} seeds of the best"
        )
    alone, *regularized = AND_MASKS
    return {
        "claim": "spirals: the AND-mask is most robust together with L1 or L2",
        "paper": "most robust results overall",
        "ours": f"at least {100 * PERFECT:.0f} % test accuracy: {'; '.join(parts)}",
        "verdict": _share([label for label in regularized if shares[label] > shares[alone]], regularized),
    }


def _each(test: dict[str, pd.Series], labels: list[str]) -> str:
    return "; ".join(f"{label} {median_and_range(test[label])}, n = {len(test[label])}" for label in labels)


def _share(reached: list[str], labels: list[str]) -> str:
    if len(reached) == len(labels):
        return "reproduced"
    return f"partly: {', '.join(reached)}" if reached else "not reproduced"
