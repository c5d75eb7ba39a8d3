"""Claims about adaptive and fixed steps: decided where a method beats the shortcuts, with three seeds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.skip_intervals.results import (
    CALLS,
    COUNTED,
    DOMAINS,
    METHODS,
    SCORE,
    SEEDS,
    TRAINED,
    bar,
    best_shortcut,
    made,
    passes,
    runs,
    unfinished,
)
from lab.experiments.skip_intervals.verdicts import Against, more_accurate, saves
from lab.figures.claims import Claim
from lab.figures.two_groups import Difference, welch

LIMIT = "at a small scale with our training"
"""The sizes are small, and training begins with one-step windows; the thesis's protocol was not run."""
SILENT = "adaptive_without_exploration"
GENERATION = "dataset.generation_seed"
"""The column of the seed of the trajectories, in tables whose runs draw trajectories of their own."""


def claims(results: Path) -> list[Claim]:
    """Return three claims for each domain that has runs, from ``skip_intervals/DOMAIN_runs.csv``."""
    return [
        claim
        for domain in made(results)
        for claim in _claims(runs(results, domain), domain, unfinished(results, domain))
    ]


def _claims(table: pd.DataFrame, domain: str, pending: str) -> list[Claim]:
    where, counted = DOMAINS[domain], COUNTED[domain]
    fixed = {str(name): own for name, own in table.groupby("method") if str(name).startswith("fixed")}
    silent = table[table.method == SILENT]
    found = []
    if fixed:
        gaps = {_step(name): _difference(table, own, SCORE) for name, own in fixed.items()}
        calls = {_step(name): _difference(table, own, counted) for name, own in fixed.items()}
        best = max(fixed.values(), key=lambda own: own[SCORE].mean())
        against = {name: Against(gaps[name], calls[name]) for name in gaps}
        beats = (
            f"Adaptive skips beat fixed steps ({where})",
            f"On the {where} adaptive skips reach a higher label accuracy than any fixed step (thesis, "
            "figure 2.9).",
            "Adaptive skips outperform fixed steps in both tasks.",
        )
        cheaper = (
            f"Adaptive skips save evaluations ({where})",
            f"On the {where} adaptive skips need fewer model evaluations and lose no accuracy (thesis, "
            "figure 2.10).",
            "Adaptive skips need fewer model evaluations, and thus fewer backward passes in training, and "
            "the accuracy improves.",
        )
        refused = _refused(table, *fixed.values())
        p_values = _p_values({f"accuracy, {name}": gap for name, gap in gaps.items()})
        found.append(_claim(table, beats, fixed, best, p_values, refused or more_accurate(gaps, LIMIT)))
        p_values = f"{p_values}, {_p_values({f'calls, {name}': one for name, one in calls.items()})}"
        limit = f"{LIMIT}, counted per rollout" if counted == CALLS else LIMIT
        found.append(_claim(table, cheaper, fixed, best, p_values, refused or saves(against, limit)))
    if len(silent):
        gap = _difference(table, silent, SCORE)
        random = (
            f"Random matches at first help ({where})",
            f"On the {where} adaptive skips become more accurate if matches are random at first, and fewer "
            "and fewer of them are random later (thesis, figure 2.9).",
            "On the room runner this is a significant improvement.",
        )
        verdict = _refused(table, silent) or more_accurate({METHODS[SILENT]: gap}, LIMIT)
        p_values = _p_values({"accuracy": gap})
        found.append(_claim(table, random, {SILENT: silent}, silent, p_values, verdict))
    if pending:
        return [claim._replace(verdict=f"pending: {pending}") for claim in found]
    return found


def _claim(
    table: pd.DataFrame,
    texts: tuple[str, str, str],
    others: dict[str, pd.DataFrame],
    best: pd.DataFrame,
    p_values: str,
    verdict: str,
) -> Claim:
    adaptive = table[table.method == "adaptive"]
    name, accuracy = best_shortcut(table)
    gap = 100 * (adaptive[SCORE].mean() - best[SCORE].mean())
    each = "; ".join(_words(own) for own in (adaptive, *others.values()))
    one_draw = GENERATION not in table or len(set(table[GENERATION])) == 1
    draw = (
        "All seeds share one draw of trajectories, on whose held-out part the configurations were chosen "
        "too. They differ in networks and batches, so no range covers another draw."
        if one_draw
        else "Each seed draws its own trajectories, and the configurations were chosen on others."
    )
    return Claim(
        short=texts[0],
        claim=texts[1],
        paper=f"{texts[2]} The thesis prints curves and no numbers. It has 8 seeds and searches nine "
        "configurations per method.",
        ours=f"Accuracy and calls by method are: {each}. Accuracy is hard accuracy on held-out trajectories, "
        "a mean over each run's last five evaluations, given as mean and range over seeds. Calls are "
        f"model evaluations per rollout. The best shortcut ({name}) has {100 * accuracy:.1f} %. Each method "
        "has the best of its own nine configurations (steps of three frames or more have the one of two "
        f"frames). {draw} The p values of adaptive skips against the others "
        f"(Welch's test, before Holm's correction) are: {p_values}.",
        number=f"{gap:+.1f} points of accuracy, {adaptive[CALLS].mean():.1f} against "
        f"{best[CALLS].mean():.1f} calls per rollout ({METHODS[str(best.method.iloc[0])]})",
        verdict=verdict,
    )


def _refused(table: pd.DataFrame, *others: pd.DataFrame) -> str:
    """Return the reason why methods are not compared; the text is empty if they are compared."""
    if not passes(table):
        return f"undecided: no method reaches {100 * bar(table):.0f} % with three seeds"
    fewest = min(len(own) for own in (table[table.method == "adaptive"], *others))
    return f"undecided: a method has {fewest} of the {SEEDS} seeds needed" if fewest < SEEDS else ""


def _difference(table: pd.DataFrame, others: pd.DataFrame, column: str) -> Difference:
    """Return the mean of adaptive skips minus that of others; open if one has a single seed or no value."""
    groups = [
        own[column].tolist() if column in own else [] for own in (table[table.method == "adaptive"], others)
    ]
    return welch(*groups) if min(map(len, groups)) > 1 else Difference(0.0, 1.0)


def _step(method: str) -> str:
    return METHODS[method].replace("fixed, ", "steps of ")


def _p_values(found: dict[str, Difference]) -> str:
    return ", ".join(f"{name} {difference.p_value:.2g}" for name, difference in found.items())


def _words(table: pd.DataFrame) -> str:
    scores = 100 * table[SCORE]
    trained = f", {table[TRAINED].mean():,.0f} calls in training" if TRAINED in table else ""
    return (
        f"{METHODS[table.method.iloc[0]]}: {scores.mean():.1f} % ({scores.min():.1f} to {scores.max():.1f}) "
        f"with {table[CALLS].mean():.1f} calls{trained}, n = {len(table)}"
    )
