"""Claims about adaptive and fixed steps: decided where a method beats the shortcuts, with three seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.skip_intervals.differences import compared, difference, has_one_draw
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
from lab.figures.markdown_table import as_markdown
from lab.figures.pending import number_of_runs
from lab.figures.two_groups import Difference

LIMIT = "at a small scale with our training"
"""The sizes are small, and training begins with one-step windows; the thesis's protocol was not run."""
NOT_SEARCHED = f"{LIMIT}, settings not searched with noise"
LIMITS = {"room_runner": LIMIT, "room_runner_noisy": NOT_SEARCHED, "funnel_board": LIMIT}
SEARCHED = {
    "room_runner": "Each method has the best of its own nine configurations (steps of three frames have the "
    "one of two frames).",
    "room_runner_noisy": "Each method has the configuration that its search on the room runner without noise "
    "chose. Adaptive skips have a horizon of 20, which is set by hand; the search had 4 to 8. Steps of three "
    "frames or more have the configuration of two frames.",
    "funnel_board": "No configuration was searched.",
}
"""How the settings of the methods were chosen, by domain."""
SILENT = "adaptive_without_exploration"


class _Texts(NamedTuple):
    """The short claim, the claim, and what the thesis says."""

    short: str
    claim: str
    paper: str


def claims(results: Path) -> list[Claim]:
    """Return up to three claims for each domain that has runs, from ``skip_intervals/DOMAIN_runs.csv``."""
    found = []
    for domain in made(results):
        table = runs(results, domain)
        found += _against_fixed(results, domain, table)
        found += _against_silent(results, domain, table)
    return found


def _against_fixed(results: Path, domain: str, table: pd.DataFrame) -> list[Claim]:
    """Return two claims, on accuracy and on evaluations, if there are fixed steps."""
    where, counted, limit = DOMAINS[domain], COUNTED[domain], LIMITS[domain]
    fixed = {str(name): own for name, own in table.groupby("method") if str(name).startswith("fixed")}
    if not fixed:
        return []
    gaps = {_step(name): difference(table, own, SCORE) for name, own in fixed.items()}
    calls = {_step(name): difference(table, own, counted) for name, own in fixed.items()}
    against = {name: Against(gaps[name], calls[name]) for name in gaps}
    open_because = _pending(results, domain, lambda method: method != SILENT) or _refused(
        table, *fixed.values()
    )
    of_accuracy, of_calls = (dict(zip(fixed, found.values(), strict=True)) for found in (gaps, calls))
    beats = _Texts(
        f"Adaptive skips beat fixed steps ({where})",
        f"On the {where} adaptive skips reach a higher label accuracy than any fixed step (thesis, "
        "figure 2.9).",
        "Adaptive skips outperform fixed steps in both tasks.",
    )
    cheaper = _Texts(
        f"Adaptive skips save evaluations ({where})",
        f"On the {where} adaptive skips need fewer model evaluations and lose no accuracy (thesis, "
        "figure 2.10).",
        "Adaptive skips need fewer model evaluations, and thus fewer backward passes in training, and "
        "the accuracy improves.",
    )
    verdicts = (
        open_because or more_accurate(gaps, limit),
        open_because or saves(against, f"{limit}, counted per rollout" if counted == CALLS else limit),
    )
    return [
        _claim(domain, table, beats, fixed, {"p of accuracy": of_accuracy}, verdicts[0]),
        _claim(
            domain, table, cheaper, fixed, {"p of accuracy": of_accuracy, "p of calls": of_calls}, verdicts[1]
        ),
    ]


def _against_silent(results: Path, domain: str, table: pd.DataFrame) -> list[Claim]:
    """Return the claim on random matches at first, if there are runs without them."""
    where, silent = DOMAINS[domain], table[table.method == SILENT]
    if silent.empty:
        return []
    gap = difference(table, silent, SCORE)
    texts = _Texts(
        f"Random matches at first help ({where})",
        f"On the {where} adaptive skips become more accurate if matches are random at first, and fewer "
        "and fewer of them are random later (thesis, figure 2.9).",
        "On the room runner this is a significant improvement.",
    )
    verdict = (
        _pending(results, domain, lambda method: method in ("adaptive", SILENT))
        or _refused(table, silent)
        or more_accurate({METHODS[SILENT]: gap}, LIMITS[domain])
    )
    return [_claim(domain, table, texts, {SILENT: silent}, {"p of accuracy": {SILENT: gap}}, verdict)]


def _claim(
    domain: str,
    table: pd.DataFrame,
    texts: _Texts,
    others: dict[str, pd.DataFrame],
    differences: dict[str, dict[str, Difference]],
    verdict: str,
) -> Claim:
    """Return one claim; ``differences`` has those from adaptive skips by column of the table and method."""
    name, accuracy = best_shortcut(table)
    rows = [
        _row(own) | {column: _p_value(found.get(method)) for column, found in differences.items()}
        for method, own in {"adaptive": table[table.method == "adaptive"], **others}.items()
    ]
    draw, test = (
        (
            "All seeds share one draw of trajectories, on whose held-out part the configurations were chosen "
            "too. They differ in networks and batches, so no range covers another draw.",
            "Welch's test",
        )
        if has_one_draw(table)
        else (
            "Each seed draws its own trajectories, and the configurations were chosen on others.",
            "a paired t test over the seeds of both",
        )
    )
    return Claim(
        short=texts.short,
        claim=texts.claim,
        paper=f"{texts.paper} The thesis prints curves and no numbers. It has 8 seeds and searches nine "
        "configurations per method.",
        ours="Accuracy is hard accuracy on held-out trajectories, a mean over each run's last five "
        "evaluations. The table has its mean and range over seeds. Calls are model evaluations per rollout. "
        f"The best shortcut ({name}) has {100 * accuracy:.1f} %. {SEARCHED[domain]} {draw} The p values are "
        f"those of adaptive skips against the others ({test}, before Holm's correction).",
        table=as_markdown(rows),
        number=_number(table, others, verdict),
        verdict=verdict,
    )


def _number(table: pd.DataFrame, others: dict[str, pd.DataFrame], verdict: str) -> str:
    """Return how far adaptive skips are ahead of the best other method, or the number of runs so far."""
    kind, _, progress = verdict.partition(": ")
    if kind == "pending":
        return number_of_runs(progress)
    best = max(others.values(), key=lambda own: own[SCORE].mean())
    adaptive, other = compared(table, best)
    gap = 100 * (adaptive[SCORE].mean() - other[SCORE].mean())
    return (
        f"{gap:+.1f} points of accuracy, {adaptive[CALLS].mean():.1f} against {other[CALLS].mean():.1f} "
        f"calls per rollout ({METHODS[str(best.method.iloc[0])]})"
    )


def _pending(results: Path, domain: str, chosen: Callable[[str], bool]) -> str:
    """Return the verdict of a claim whose methods have runs to come; the text is empty if they have none."""
    progress = unfinished(results, domain, chosen)
    return f"pending: {progress}" if progress else ""


def _refused(table: pd.DataFrame, *others: pd.DataFrame) -> str:
    """Return the reason why methods are not compared; the text is empty if they are compared."""
    if not passes(table):
        return f"undecided: no method reaches {100 * bar(table):.0f} % with three seeds"
    fewest = min(min(map(len, compared(table, own))) for own in others)
    return f"undecided: a method has {fewest} of the {SEEDS} seeds needed" if fewest < SEEDS else ""


def _step(method: str) -> str:
    return METHODS[method].replace("fixed, ", "steps of ")


def _p_value(found: Difference | None) -> str:
    return "" if found is None else f"{found.p_value:.2g}"


def _row(table: pd.DataFrame) -> dict[str, str]:
    """Return the cells of one method's runs."""
    scores = 100 * table[SCORE]
    trained = {"calls in training": f"{table[TRAINED].mean():,.0f}"} if TRAINED in table else {}
    return {
        "method": METHODS[table.method.iloc[0]],
        "n": str(len(table)),
        "accuracy in %": f"{scores.mean():.1f} ({scores.min():.1f} to {scores.max():.1f})",
        "calls": f"{table[CALLS].mean():.1f}",
        **trained,
    }
