"""The claim that the AND-mask has the complexity of plain training: their ratio of costs does not grow."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.claims import Claim

NETWORK = "perceptron 3 x 256"
WAY, PLAIN = "vectorized", "plain training"
GROWTH = 1.5
"""The ratio at the largest problem may be this many times the ratio at the smallest, because of noise."""


def claims(results: Path) -> list[Claim]:
    """Return the claim for the perceptron of section 3.1 with one vote per environment.

    The numbers come from ``cost/gradients.csv``.
    """
    costs = pd.read_csv(results / "cost" / "gradients.csv")
    costs = costs[costs.model == NETWORK]
    masked, plain = (costs[costs.way == way].set_index(["environments", "examples"]) for way in (WAY, PLAIN))
    n_of_most = masked.groupby("examples").size().idxmax()
    e_of_most = masked.groupby("environments").size().idxmax()
    by_environments = masked.times_plain.xs(n_of_most, level="examples").sort_index()
    by_examples = masked.times_plain.xs(e_of_most, level="environments").sort_index()
    memory = pd.DataFrame({"masked": masked.step_peak_mb, "plain": plain.step_peak_mb}).dropna().sort_index()
    most, (largest, there) = memory.iloc[-1], memory.index[-1]
    in_time = all(ratio.iloc[-1] <= GROWTH * ratio.iloc[0] for ratio in (by_environments, by_examples))
    in_space = most.masked <= GROWTH * most.plain
    return [
        Claim(
            short="The AND-mask has plain training's complexity",
            claim="The AND-mask has the same time and space complexity as plain gradient descent.",
            paper="The complexity is linear in the number of examples that are averaged.",
            ours="We compare a backward pass with a vote per environment with a plain backward pass. With "
            f"{_sizes(by_environments)} environments of {n_of_most} examples it takes "
            f"{_words(by_environments)} as long. With {_sizes(by_examples)} examples from each of "
            f"{e_of_most} environments it takes {_words(by_examples)} as long. With {largest:,} environments "
            f"of {there} examples its peak memory is {most.masked:.0f} MB, and that of the plain pass is "
            f"{most.plain:.0f} MB. This is one run of the benchmark, with a {NETWORK}, on "
            f"{costs.device.iloc[0]} with {costs.threads.iloc[0]} threads.",
            number=f"{by_environments.iloc[-1]:.1f} times a plain backward pass with "
            f"{by_environments.index[-1]:,} environments",
            verdict=_verdict(in_time, in_space),
        )
    ]


def _verdict(in_time: bool, in_space: bool) -> str:
    if in_time and in_space:
        return "reproduced"
    return "in part: only in time" if in_time else "in part: only in space" if in_space else "not reproduced"


def _words(ratios: pd.Series) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times"


def _sizes(ratios: pd.Series) -> str:
    return ", ".join(f"{size:,}" for size in ratios.index)
