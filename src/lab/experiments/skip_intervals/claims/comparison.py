"""Claims about adaptive and fixed steps: decided where a method beats the shortcuts, with three seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lab.experiments.skip_intervals.results import (
    CALLS,
    DOMAINS,
    METHODS,
    SCORE,
    SEEDS,
    bar,
    best_shortcut,
    made,
    passes,
    runs,
)
from lab.figures.claims import Claim

LIMIT = "in part: at a small scale with our training"
"""The limit of every verdict. The sizes are small, and training begins with one-step windows; the thesis's
protocol was not run."""


def claims(results: Path) -> list[Claim]:
    """Return three claims for each domain that has runs, from ``skip_intervals/DOMAIN_runs.csv``."""
    return [claim for domain in made(results) for claim in _claims(runs(results, domain), DOMAINS[domain])]


def _claims(table: pd.DataFrame, domain: str) -> list[Claim]:
    adaptive = table[table.method == "adaptive"]
    silent = table[table.method == "adaptive_without_exploration"]
    fixed = best_fixed(table)
    n_fixed = table[table.method.str.startswith("fixed")].method.nunique()
    against_fixed = (
        (
            f"Adaptive skips beat fixed steps ({domain})",
            f"On the {domain} adaptive skips reach a higher label accuracy than any fixed step (thesis, "
            "figure 2.9).",
            verdict,
        ),
        (
            f"Adaptive skips save evaluations, keep accuracy ({domain})",
            f"On the {domain} adaptive skips need fewer model evaluations and lose no accuracy (thesis, "
            "figure 2.10).",
            efficiency,
        ),
    )
    found = []
    if len(fixed):
        which = f" (the best of the {n_fixed} fixed steps that we ran)"
        found += [
            _claim(table, short, claim, fixed, which, decide(table, adaptive, fixed))
            for short, claim, decide in against_fixed
        ]
    if len(silent):
        found.append(
            _claim(
                table,
                short=f"Random matches at first help ({domain})",
                claim=f"On the {domain} adaptive skips become more accurate if matches are random at first, "
                "and fewer and fewer of them are random later (thesis, figure 2.9).",
                other=silent,
                which="",
                verdict=verdict(table, adaptive, silent),
            )
        )
    return found


def _claim(
    table: pd.DataFrame, short: str, claim: str, other: pd.DataFrame, which: str, verdict: str
) -> Claim:
    adaptive = table[table.method == "adaptive"]
    name, accuracy = best_shortcut(table)
    gap = 100 * (adaptive[SCORE].mean() - other[SCORE].mean())
    return Claim(
        short=short,
        claim=claim,
        paper="The curves are higher and rise sooner. The thesis prints no numbers. It has 8 seeds and "
        "searches nine configurations per method.",
        ours=f"Accuracy and calls by method are: {_words(adaptive)}; {_words(other)}{which}. Accuracy is "
        "hard accuracy on held-out trajectories, a mean over each run's last five evaluations, given as mean "
        f"and range over seeds. Calls are model evaluations per rollout. The best shortcut ({name}) has "
        f"{100 * accuracy:.1f} %. Each method has the best of its own nine configurations (steps of three "
        "frames have the one of two frames). We say that two methods differ if the difference of their means "
        "is more than twice its standard error.",
        number=f"{gap:+.1f} points of accuracy, {adaptive[CALLS].mean():.1f} against "
        f"{other[CALLS].mean():.1f} calls",
        verdict=verdict,
    )


def best_fixed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the fixed step with the highest mean accuracy; this choice favours fixed steps."""
    fixed = table[table.method.str.startswith("fixed")]
    return fixed[fixed.method == fixed.groupby("method")[SCORE].mean().idxmax()] if len(fixed) else fixed


def verdict(table: pd.DataFrame, ours: pd.DataFrame, others: pd.DataFrame) -> str:
    """Return the verdict that ``ours`` is more accurate than ``others``.

    If the two may be compared, the verdict depends on the difference of the means and twice its standard
    error.
    """
    refused = _refused(table, ours, others)
    if refused:
        return refused
    gap, error = _difference(ours, others)
    if gap > error:
        return LIMIT
    return (
        "not reproduced: the other is more accurate"
        if gap < -error
        else "undecided: the difference is too small to be sure"
    )


def efficiency(table: pd.DataFrame, ours: pd.DataFrame, others: pd.DataFrame) -> str:
    """Return the verdict that ``ours`` needs fewer calls with each seed, without a loss of mean accuracy.

    The comparison has the same conditions as in ``verdict``.
    """
    refused = _refused(table, ours, others)
    if refused:
        return refused
    gap, error = _difference(ours, others)
    if ours[CALLS].max() >= others[CALLS].min():
        return "not reproduced: no fewer model evaluations"
    if gap < -error:
        return "not reproduced: fewer model evaluations, but less accuracy"
    return (
        LIMIT if gap >= 0 else "undecided: fewer model evaluations, but it is open whether accuracy is lost"
    )


def _refused(table: pd.DataFrame, ours: pd.DataFrame, others: pd.DataFrame) -> str:
    """Return the reason why two methods are not compared; the text is empty if they are compared."""
    if not passes(table):
        return f"undecided: no method reaches {100 * bar(table):.0f} % with three seeds"
    fewest = min(len(ours), len(others))
    return f"undecided: one of the two has {fewest} of the {SEEDS} seeds needed" if fewest < SEEDS else ""


def _difference(ours: pd.DataFrame, others: pd.DataFrame) -> tuple[float, float]:
    """Return the difference of the means, and twice its standard error."""
    variance = sum(runs[SCORE].var() / len(runs) for runs in (ours, others))
    return float(ours[SCORE].mean() - others[SCORE].mean()), float(2 * np.sqrt(variance))


def _words(table: pd.DataFrame) -> str:
    scores = 100 * table[SCORE]
    return (
        f"{METHODS[table.method.iloc[0]]}: {scores.mean():.1f} % ({scores.min():.1f} to {scores.max():.1f}) "
        f"with {table[CALLS].mean():.1f} calls, n = {len(table)}"
    )
