"""The claim about IRM's failures: how the outcome of a run depends on the schedule of the penalty's weight.

The rule was written on 25 November 2026. On 26 November it got its present form, with weights of 1, 10,000
and 100,000 and the source's rule to stop. On 28 November it moved from 5,000 images and full batches to the
reimplementation's 20,000 images and steps, because no schedule works with 5,000. Two runs of the ramp had
ended then. A verdict on fewer than three seeds became undecided later that day.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.irm.results import OUTCOMES, SCHEDULES, STABILITY, stability_runs
from lab.experiments.irm.verdicts import ANOTHER_NETWORK, judged
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import data_sources
from lab.figures.verdicts import FEWEST

AT_ONCE = tuple(name for name in SCHEDULES if name.startswith("constant"))
"""Schedules under which the penalty has its full weight from the first step."""
PLAIN_FIRST = tuple(name for name in SCHEDULES if not name.startswith("constant"))
"""Schedules under which the penalty has a small weight, or none, for hundreds of steps or more."""
WORKS = 0.2
"""A schedule works if at least this share of its seeds passes the bar."""


def claims(results: Path) -> list[Claim]:
    """Return the claim that IRM must begin as plain training. All schedules and weights count.

    The numbers come from ``stability_*.csv``.
    """
    runs = stability_runs(results)
    shares = {
        name: {kind: float((chosen.outcome == kind).mean()) for kind in OUTCOMES}
        for name in SCHEDULES
        if len(chosen := runs[runs.schedule == name])
    }
    seeds = runs.groupby("schedule").seed.nunique()
    ours = number = table = ""
    if shares:
        ours = (
            "The table has the shares of the seeds with each outcome, by the schedule of the penalty's "
            f"weight. There are {_seeds(seeds)} each. The data are {data_sources(runs)}."
        )
        table = as_markdown([{"schedule": name} | _cells(share) for name, share in shares.items()])
    if set(shares) == set(SCHEDULES):
        at_once = [shares[name]["collapsed"] for name in AT_ONCE]
        later = max(shares[name]["collapsed"] for name in PLAIN_FIRST)
        number = (
            f"{100 * min(at_once):.0f} to {100 * max(at_once):.0f} % of the runs collapse and never pass "
            "the bar with an early penalty, by its weight, "
            f"{f'at most {100 * later:.0f} %' if later else 'none'} with a late one"
        )
    claim = Claim(
        short="IRM must begin as plain training",
        claim="If the penalty acts from the first step, IRM collapses to a constant. It does not if training "
        "begins as plain training.",
        paper="A collapse is the most common failure. It happens where the penalty weighs too much. The "
        "important thing is to begin as plain training (reimplementation).",
        ours=ours,
        table=table,
        number=number,
        verdict="",
    )
    fewest = int(seeds.min()) if shares else 0
    return [judged(claim, begins_plain(shares, fewest), results, STABILITY, ANOTHER_NETWORK)]


def begins_plain(shares: dict[str, dict[str, float]], seeds: int) -> str:
    """Return the verdict that IRM collapses if it does not begin as plain training.

    Schedules are early if the penalty has its full weight at once, and late if training begins as plain
    training. A run works if it passes the bar at some evaluation, where the source stops. Reproduced: every
    early run collapses, no late run collapses, and a late schedule works. In part: no early schedule works,
    and early runs collapse, but not at every weight, or late runs collapse too. Not reproduced: an early
    schedule works, at least half as often as the best late schedule, or no early run collapses. Undecided: no
    schedule works, or there are fewer than three seeds.

    Args:
        shares: for each schedule the share of its seeds with each of ``OUTCOMES``.
        seeds: the smallest number of seeds of a schedule.
    """
    if set(shares) != set(SCHEDULES) or seeds < FEWEST:
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
    but = [
        "some early runs do not collapse" * any(share["collapsed"] < 1 for share in early),
        "some late runs do" * any(share["collapsed"] for share in late),
    ]
    return f"in part: no early penalty works, but {' and '.join(filter(None, but))}"


def _cells(share: dict[str, float]) -> dict[str, str]:
    kinds = {
        "success": "pass the bar",
        "collapsed": "collapse and never pass it",
        "plain": "end as plain training does",
        "between": "end in between",
    }
    return {word: f"{100 * share[kind]:.0f} %" for kind, word in kinds.items()}


def _seeds(seeds: pd.Series) -> str:
    least, most = int(seeds.min()), int(seeds.max())
    return f"n = {least} {f'to {most} ' if most > least else ''}seeds"
