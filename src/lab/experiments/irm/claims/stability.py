"""The claims about IRM's failures: how the outcome of a run depends on the schedule of the penalty's weight.

The rules were written on 25 November 2026. On 26 November they got weights of 1, 10,000 and 100,000 and the
source's rule to stop. No run on MNIST had begun then.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.irm.results import (
    FOLDER,
    NAMED_WEIGHTS,
    OUTCOMES,
    OWN_PACE,
    SCHEDULES,
    passes,
    stability_runs,
)
from lab.experiments.irm.verdicts import LIMIT, judged, most
from lab.figures.claims import Claim
from lab.figures.pending import read_curves
from lab.figures.style import data_sources

AT_ONCE = (*(f"constant {weight}" for weight in NAMED_WEIGHTS), "constant", "ramp 1.6")
"""Schedules under which the penalty has its full weight from the first step, or within fifty steps."""
PLAIN_FIRST = ("step", "step to 10", "ramp 8", OWN_PACE)
"""Schedules under which the penalty has a small weight for hundreds of steps or more."""
WORKS = 0.2
"""A schedule works if at least this share of its seeds passes the bar."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on the reimplementation's failures and on its remedy.

    The numbers come from ``stability_runs.csv`` and ``ramp_*.csv``.
    """
    return [_begins_plain(results), _ramp(results)]


def _begins_plain(results: Path) -> Claim:
    """Return the claim that IRM must begin as plain training. All schedules and weights count."""
    runs = stability_runs(results)
    shares = {
        name: {kind: float((chosen.outcome == kind).mean()) for kind in OUTCOMES}
        for name in SCHEDULES
        if len(chosen := runs[runs.schedule == name])
    }
    ours = number = ""
    if shares:
        each = "; ".join(f"{name}: {_words(share)}" for name, share in shares.items())
        ours = (
            f"The outcomes by schedule are: {each}. There are n = {_seeds(runs)} seeds each. The data are "
            f"{data_sources(runs)}."
        )
    if set(shares) == set(SCHEDULES):
        at_once = [shares[name]["collapsed"] for name in AT_ONCE]
        later = max(shares[name]["collapsed"] for name in PLAIN_FIRST)
        number = (
            f"{100 * min(at_once):.0f} to {100 * max(at_once):.0f} % of the runs collapse with an early "
            f"penalty, by its weight, {f'at most {100 * later:.0f} %' if later else 'none'} with a late one"
        )
    claim = Claim(
        short="IRM must begin as plain training",
        claim="If IRM does not begin as plain training, it collapses to a constant.",
        paper="This is the most common failure. It happens where the penalty weighs too much "
        "(reimplementation).",
        ours=ours,
        number=number,
        verdict="",
    )
    return judged(claim, begins_plain(shares), results, ("stability", "ramp"), LIMIT)


def begins_plain(shares: dict[str, dict[str, float]]) -> str:
    """Return the verdict that IRM collapses if it does not begin as plain training.

    Schedules are early if the penalty has its full weight at once, and late if training begins as plain
    training. A run works if it passes the bar at some evaluation, where the source stops. Reproduced: every
    early run collapses, no late run collapses, and a late schedule works. In part: no early schedule works,
    and early runs collapse, but not at every weight, or late runs collapse too. Not reproduced: an early
    schedule works, at least half as often as the best late schedule, or no early run collapses. Undecided: no
    schedule works.

    Args:
        shares: for each schedule the share of its seeds with each of ``OUTCOMES``.
    """
    if set(shares) != set(SCHEDULES):
        return "undecided"
    early, late = ([shares[name] for name in names] for names in (AT_ONCE, PLAIN_FIRST))
    best_early, best_late = (max(share["success"] for share in group) for group in (early, late))
    if max(best_early, best_late) < WORKS:
        return "undecided: no schedule works"
    if best_early >= max(WORKS, best_late / 2):
        return "not reproduced: an early penalty works too"
    if not any(share["collapsed"] for share in early):
        return "not reproduced: an early penalty fails without a collapse"
    if all(share["collapsed"] == 1 for share in early) and not any(share["collapsed"] for share in late):
        return "reproduced"
    return "in part: no early penalty works, but not every early run collapses, or a late one does"


def _ramp(results: Path) -> Claim:
    """Return the claim on the reimplementation's own schedule, judged by the reimplementation's own rule.

    By this rule, a run stops when all environments pass the bar.
    """
    curves = read_curves(results / FOLDER / "ramp_curves.csv")
    ours, number, kind = "", "", "undecided"
    if len(curves):
        first = curves[passes(curves)].groupby("seed").epoch.min()
        last = curves[curves.epoch == curves.epoch.max()]
        n, share = curves.seed.nunique(), len(first) / curves.seed.nunique()
        highest = curves.groupby("seed")["test/accuracy"].max()
        runs = stability_runs(results)
        when = f" for the first time at epoch {first.min():.0f} to {first.max():.0f}" if len(first) else ""
        ours = (
            f"The schedule is: {SCHEDULES[OWN_PACE]}. There is an evaluation every four epochs of 79 steps. "
            f"{len(first)} of {n} seeds pass at some evaluation{when}, and {passes(last).sum()} at the last. "
            f"The highest test accuracy is {100 * highest.min():.0f} to {100 * highest.max():.0f} %. To stop "
            "at such an evaluation, one looks at test data, as the source does. The data are "
            f"{data_sources(runs[runs.schedule == OWN_PACE])}."
        )
        number = f"{100 * share:.0f} % of the seeds above 70 % train and 60 % test at some evaluation"
        kind = ramp(len(first), n)
    claim = Claim(
        short="A slowly growing penalty makes IRM work",
        claim="IRM works when the penalty's weight grows slowly, as the epoch to the power of 1.6.",
        paper="Accuracy is above 70 % in training and above 60 % in test. This is "
        '"quite unstable depending on the random seed". Training stops where all environments pass, the test '
        "environment too (reimplementation, MNIST).",
        ours=ours,
        number=number,
        verdict="",
    )
    return judged(claim, kind, results, ("ramp",), LIMIT)


def ramp(passing: int, n: int) -> str:
    """Return the verdict that a slow ramp works, if ``passing`` of ``n`` seeds pass at some evaluation.

    Reproduced: their share is above a half by more than two standard errors. Undecided: it is within two
    standard errors of a half. In part: fewer pass, but some do. Not reproduced: no seed passes.
    """
    if not passing:
        return "not reproduced"
    kinds = {"yes": "reproduced", "open": "undecided", "no": f"in part: {passing} of {n} seeds"}
    return kinds[most(passing / n, n)]


def _words(share: dict[str, float]) -> str:
    kinds = {
        "success": "pass the bar",
        "collapsed": "collapse",
        "plain": "end as plain training does",
        "between": "end in between",
    }
    return ", ".join(f"{100 * share[kind]:.0f} % {word}" for kind, word in kinds.items())


def _seeds(runs: pd.DataFrame) -> str:
    return str(runs.groupby("schedule").seed.nunique().min())
