"""The claim that the AND-mask has the complexity of plain training, and what its constant is."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.claims import Claim

NETWORK = "perceptron 3 x 256"
WAY, PLAIN = "vectorized", "plain training"
BATCH_NORM, LOCAL, EXACT = "FastResNet, BatchNorm", "per_example", "per_example_loss"
GROWTH = 1.5
"""The ratio at the largest problem may be this many times the ratio at the smallest, because of noise."""
SAME = 1.5
"""A step costs what a plain step costs if it takes at most this many times as long."""


def claims(results: Path) -> list[Claim]:
    """Return the claim for the perceptron of section 3.1 with one vote per environment.

    The verdict also names the cost of section 3.2's votes, one per example under BatchNorm. The numbers come
    from ``cost/gradients.csv``.
    """
    table = pd.read_csv(results / "cost" / "gradients.csv")
    costs = table[table.model == NETWORK]
    masked, plain = (costs[costs.way == way].set_index(["environments", "examples"]) for way in (WAY, PLAIN))
    n_of_most = masked.groupby("examples").size().idxmax()
    e_of_most = masked.groupby("environments").size().idxmax()
    by_environments = masked.times_plain.xs(n_of_most, level="examples").sort_index()
    by_examples = masked.times_plain.xs(e_of_most, level="environments").sort_index()
    memory = pd.DataFrame({"masked": masked.step_peak_mb, "plain": plain.step_peak_mb}).dropna().sort_index()
    most, (largest, there) = memory.iloc[-1], memory.index[-1]
    votes = table[table.model == BATCH_NORM].set_index("way").times_plain
    elsewhere = _memory_elsewhere(table)
    ratios = [float(ratio) for ratio in (*by_environments, *by_examples)]
    return [
        Claim(
            short="The AND-mask has plain training's complexity",
            claim="The AND-mask has the same time and space complexity as plain gradient descent.",
            paper="The complexity is linear in the number of examples that are averaged.",
            ours=f"On a {NETWORK} we compare a backward pass with a vote per environment with a plain "
            "backward pass. With "
            f"{_sizes(by_environments)} environments of {n_of_most} examples it takes "
            f"{_words(by_environments)} as long. With {_sizes(by_examples)} examples from each of "
            f"{e_of_most} environments it takes {_words(by_examples)} as long. With {largest:,} environments "
            f"of {there} examples its peak memory is {most.masked:.0f} MB, and that of the plain pass is "
            f"{most.plain:.0f} MB. With a vote per example under BatchNorm (FastResNet, 80 images) our local "
            f"vote takes {votes[LOCAL]:.2f} times as long, and the exact vote {votes[EXACT]:.0f} times. Of "
            f"the other networks {elsewhere.idxmax()} needs the most memory, {elsewhere.max():.2f} times a "
            f"plain step's. The times are of one run of the benchmark, on {costs.device.iloc[0]} with "
            f"{costs.threads.iloc[0]} threads. Memory was partly measured an hour later, with one thread.",
            number=f"{min(ratios):.2f} to {max(ratios):.2f} times a plain pass, "
            f"{votes[EXACT]:.0f} times with exact votes under BatchNorm",
            reading="whether complexity means the order of growth alone or the time of a step, and which "
            "vote of an example is meant under BatchNorm.",
            verdict=complexity_rule(
                [float(ratio) for ratio in by_environments],
                [float(ratio) for ratio in by_examples],
                float(most.masked / most.plain),
                float(elsewhere.max()),
                float(votes[EXACT]),
            ),
        )
    ]


def complexity_rule(
    by_environments: list[float], by_examples: list[float], memory: float, elsewhere: float, exact: float
) -> str:
    """Return the verdict on complexity and on the constant.

    The cost is linear if its ratio to a plain pass does not grow with the size of the problem. The claim is
    reproduced if also no ratio is much above 1. Otherwise the verdict names the ratios. One network shows
    the growth; the others show one size each.

    Args:
        by_environments: the times of a plain pass, from few environments to many.
        by_examples: the times of a plain pass, from few examples of each environment to many.
        memory: the memory of a plain pass, as often, at the largest problem.
        elsewhere: the largest such ratio on another network.
        exact: the times of a plain pass with exact votes of single examples under BatchNorm.
    """
    if min(len(by_environments), len(by_examples)) < 2:
        return "undecided: one size tells nothing about growth"
    in_time = all(ratios[-1] <= GROWTH * ratios[0] for ratios in (by_environments, by_examples))
    in_space = memory <= GROWTH
    ratios = [*by_environments, *by_examples]
    if not (in_time or in_space):
        return "not reproduced"
    if not (in_time and in_space):
        return f"in part: linear only in {'time' if in_time else 'space'}"
    if max(*ratios, elsewhere, exact) <= SAME:
        return "reproduced"
    return (
        f"in part: linear on a perceptron, but {min(ratios):.2f} to {max(ratios):.2f} times a plain pass, "
        f"{exact:.0f} times with exact votes of examples under BatchNorm, and up to {elsewhere:.1f} times "
        "the memory on other networks"
    )


def _memory_elsewhere(table: pd.DataFrame) -> pd.Series:
    """Return the most memory of a masked step of each other network, in plain steps."""
    of = table[table.model != NETWORK].pivot_table("step_peak_mb", "model", "way")
    ratios: pd.Series = of[[WAY, LOCAL]].div(of[PLAIN], axis="index").max(axis="columns")
    return ratios


def _words(ratios: pd.Series) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times"


def _sizes(ratios: pd.Series) -> str:
    return ", ".join(f"{size:,}" for size in ratios.index)
