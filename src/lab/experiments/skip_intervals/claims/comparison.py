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
            f"{domain}: adaptive skips reach a higher label accuracy than any fixed step (thesis, "
            "figure 2.9)",
            verdict,
        ),
        (
            f"Fewer evaluations, no accuracy lost ({domain})",
            f"{domain}: adaptive skips need fewer model evaluations and lose no accuracy (thesis, "
            "figure 2.10)",
            efficiency,
        ),
    )
    found = []
    if len(fixed):
        which = f" (the best of the {n_fixed} fixed steps made)"
        found += [
            _claim(table, short, claim, fixed, which, decide(table, adaptive, fixed))
            for short, claim, decide in against_fixed
        ]
    if len(silent):
        found.append(
            _claim(
                table,
                short=f"Random matches at first help ({domain})",
                claim=f"{domain}: random matches at first, fewer and fewer, make adaptive skips more "
                "accurate (thesis, figure 2.9)",
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
        paper="higher curves, sooner; no numbers printed (8 seeds, nine configurations searched per method)",
        ours=f"{_words(adaptive)}; {_words(other)}{which}; hard accuracy on held-out trajectories, mean of "
        "each run's last five evaluations, mean and range over seeds, and model evaluations per rollout; "
        f"best shortcut: {name}, {100 * accuracy:.1f} %; each method with the best "
        "of its own nine configurations (three frames: that of two); told apart where the means differ by "
        "more than twice the standard error of that",
        number=f"{gap:+.1f} points, {adaptive[CALLS].mean():.1f} against {other[CALLS].mean():.1f} calls",
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
    return "not reproduced: the other is more accurate" if gap < -error else "undecided: not told apart"


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
        return "not reproduced: fewer model evaluations, less accuracy"
    return (
        LIMIT if gap >= 0 else "undecided: fewer evaluations, a loss of accuracy is not told apart from none"
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
