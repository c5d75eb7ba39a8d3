"""Claims about training on the spirals: the paper's value, ours, and a verdict that the numbers decide."""

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
    as_in_the_paper,
    read_environments,
    read_methods,
    read_trials,
    seeds_per_point,
)
from ilc.figures.style import median_and_range

PAPER_ENVIRONMENTS = 1024


def methods(results: Path) -> list[dict[str, str]]:
    """Figure 6, from ``spirals/methods`` and ``spirals/search``."""
    runs = read_methods(results, "runs")
    test = {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}
    return [_masks(test), _baselines(test), _robustness(results, test)]


def _masks(test: dict[str, pd.Series]) -> dict[str, str]:
    return {
        "claim": "spirals: the AND-mask learns the mechanism (figure 6)",
        "paper": "the only method with perfect test accuracy, 50 seeds",
        "ours": f"test accuracy {_each(test, AND_MASKS)}; median and range, new seeds",
        "verdict": _share([label for label in AND_MASKS if as_in_the_paper(label, test[label])], AND_MASKS),
    }


def _baselines(test: dict[str, pd.Series]) -> dict[str, str]:
    return {
        "claim": "spirals: the best of 40 trials of every baseline stays at chance (figure 6)",
        "paper": "nothing significantly better than chance",
        "ours": f"test accuracy {_each(test, BASELINES)}; median and range, new seeds; chance: within "
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


def environments(results: Path) -> list[dict[str, str]]:
    """Figure 15, from ``spirals/environments_runs.csv``."""
    runs = read_environments(results)
    first = {}
    for aggregator, chosen in runs.groupby("aggregator"):
        best = chosen.groupby("dataset.n_environments")["test/accuracy"].max()
        reached = best[best >= PERFECT]
        first[str(aggregator)] = None if reached.empty else int(reached.index.min())
    most = int(runs["dataset.n_environments"].max())
    n = seeds_per_point(runs)
    words = {name: f"never up to {most:,}" if size is None else f"{size:,}" for name, size in first.items()}
    mean, masked = first["mean"], first["and_mask"]
    if mean is None:
        verdict = "not reproduced: the baseline never does"
    elif masked is None or masked >= mean:
        verdict = "not reproduced"
    else:
        verdict = "reproduced" if mean == PAPER_ENVIRONMENTS else "reproduced, at another number"
    return [
        {
            "claim": "spirals: plain training needs very many environments to find the mechanism (figure 15)",
            "paper": f"first at {PAPER_ENVIRONMENTS:,}, best of five runs",
            "ours": f"environments from which the best of n = {n} seeds reaches {100 * PERFECT:.0f} % test "
            f"accuracy: AND-mask {words['and_mask']}, plain training {words['mean']}",
            "verdict": verdict,
        }
    ]


def _each(test: dict[str, pd.Series], labels: list[str]) -> str:
    return "; ".join(f"{label} {median_and_range(test[label])}, n = {len(test[label])}" for label in labels)


def _share(reached: list[str], labels: list[str]) -> str:
    if len(reached) == len(labels):
        return "reproduced"
    return f"partly: {', '.join(reached)}" if reached else "not reproduced"
