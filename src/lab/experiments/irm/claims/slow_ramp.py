"""The claim about the reimplementation's remedy for IRM's failures: the penalty's weight grows slowly.

The rule was written on 26 November 2026. On 28 November the claim moved from 5,000 images of each environment
to the source's 20,000, with the same rule, when two of these runs had ended. Later that day, after the runs,
"undecided" became "in part" for shares near a half, so that more passing seeds never give a worse verdict.
"""

from __future__ import annotations

from pathlib import Path

from lab.experiments.irm.results import FOLDER, STABILITY, passes, stability_runs
from lab.experiments.irm.verdicts import ANOTHER_NETWORK, judged, most
from lab.figures.claims import Claim
from lab.figures.pending import read_curves
from lab.figures.style import data_sources
from lab.figures.verdicts import FEWEST

SCHEDULE = "ramp 1.6"
"""The schedule of the study that is the reimplementation's."""


def claims(results: Path) -> list[Claim]:
    """Return the claim on the reimplementation's own schedule, judged by the reimplementation's own rule.

    By this rule, a run stops when all environments pass the bar.
    """
    runs = stability_runs(results)
    runs = runs[runs.schedule == SCHEDULE]
    curves = read_curves(results / FOLDER / f"{STABILITY}_curves.csv")
    curves = curves[curves.run.isin(runs.run)]
    ours, number, kind = "", "", "undecided"
    if len(curves):
        first = curves[passes(curves)].groupby("seed").epoch.min()
        last = curves[curves.epoch == curves.epoch.max()]
        n, share = curves.seed.nunique(), len(first) / curves.seed.nunique()
        highest = curves.groupby("seed")["test/accuracy"].max()
        when = f" for the first time at epoch {first.min():.0f} to {first.max():.0f}" if len(first) else ""
        ours = (
            f"The weight grows with the power of 1.6 over 9,360 of {last.step.max():,} steps of 64 examples "
            "of each environment, which has 20,000 images. There is an evaluation every "
            f"{curves.step.min():,} steps. "
            f"{len(first)} of {n} seeds pass at some evaluation{when}, and {passes(last).sum()} at the last. "
            f"The highest test accuracy is {100 * highest.min():.0f} to {100 * highest.max():.0f} %. To stop "
            "at such an evaluation, one looks at test data, as the source does. The data are "
            f"{data_sources(runs)}."
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
    return [judged(claim, kind, results, STABILITY, ANOTHER_NETWORK)]


def ramp(passing: int, n: int) -> str:
    """Return the verdict that a slow ramp works, if ``passing`` of ``n`` seeds pass at some evaluation.

    Reproduced: their share is above a half by more than two standard errors. In part: fewer pass, but some
    do. Not reproduced: no seed passes. Undecided: there are fewer than three seeds.
    """
    if n < FEWEST:
        return f"undecided: {n} seeds"
    if not passing:
        return "not reproduced"
    return "reproduced" if most(passing / n, n) == "yes" else f"in part: {passing} of {n} seeds"
