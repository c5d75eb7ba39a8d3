"""A finding of ours: exact votes of single examples cost a backward pass each where examples mix."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.claims.complexity import BATCH_NORM, EXACT, LOCAL
from lab.figures.claims import Claim

CHEAP, DEAR = 4.0, 10.0
"""Below the first many plain passes a vote is cheap, from the second on it is dear."""


def claims(results: Path) -> list[Claim]:
    """Return the finding, from ``cost/gradients.csv``."""
    costs = pd.read_csv(results / "cost" / "gradients.csv")
    votes = costs[costs.model == BATCH_NORM].set_index("way")
    exact, local = (float(votes.times_plain[way]) for way in (EXACT, LOCAL))
    images = int(votes.environments.iloc[0])
    return [
        Claim(
            short="Exact votes of examples are dear under BatchNorm",
            claim="Where examples mix in the network, as under BatchNorm, exact votes of single examples "
            "cost many plain passes. The local vote of the library is cheap, but it is another vote.",
            paper="",
            ours=f"FastResNet with BatchNorm on {images} images: exact votes take {exact:.1f} times a plain "
            f"pass, and local ones {local:.2f} times. This is one run of the benchmark on "
            f"{votes.device.iloc[0]}.",
            number=f"{exact:.0f} and {local:.1f} times a plain pass",
            verdict=dear_rule(exact, local),
            finding=True,
            warning=True,
        )
    ]


def dear_rule(exact: float, local: float) -> str:
    """Return the verdict from the times of a plain pass that exact and local votes take."""
    if exact >= DEAR and local < CHEAP:
        return "holds"
    if exact >= DEAR or local < CHEAP:
        return f"in part: {'exact votes are dear' if exact >= DEAR else 'local votes are cheap'}"
    return "does not hold"
