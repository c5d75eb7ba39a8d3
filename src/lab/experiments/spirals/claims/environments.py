"""The claims about the thesis's configuration: whether it is perfect, and how many environments it needs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.environments import UNANIMITY, read_environments, seeds_per_point
from lab.experiments.spirals.methods import PERFECT
from lab.experiments.spirals.reading_outcomes import PUBLISHED_ENVIRONMENTS, Outcome, read_outcomes
from lab.experiments.spirals.readings import CHOSEN
from lab.figures.claims import Claim
from lab.figures.style import median_and_range


def claims(results: Path) -> list[Claim]:
    """Return the claims, from the runs by reading and the runs by number of environments."""
    return [configuration(read_outcomes(results)), environments(*read_environments(results))]


def configuration(outcomes: list[Outcome]) -> Claim:
    """Return the claim on the thesis's best configuration with the paper's 32 environments.

    The verdict is on the chosen reading; the claim also counts the other readings.
    """
    counted = [outcome for outcome in outcomes if outcome.counted == "each"]
    (chosen,) = (outcome for outcome in counted if outcome.reading == CHOSEN)
    literal = [outcome.reading for outcome in counted if outcome.as_published.median() >= PERFECT]
    rescaled = [outcome.reading for outcome in counted if outcome.rescaled.median() >= PERFECT]
    return Claim(
        short="The thesis's best configuration is perfect",
        claim="On the spirals the configuration that the thesis calls its best (threshold 1, L2 1e-4) is "
        "perfect.",
        paper="The test accuracy is perfect. The source does not say how many revolutions the spirals have, "
        "or whether updates are rescaled. The authors' code has 3 revolutions.",
        ours=f"With {CHOSEN.revolutions:g} revolutions the test accuracy in % is "
        f"{median_and_range(chosen.as_published)}. With rescaled updates it is "
        f"{median_and_range(chosen.rescaled)}. The numbers are medians and ranges over n = "
        f"{len(chosen.rescaled)} seeds. A reading is one choice for all that the paper leaves open about the "
        f"data. The median is perfect under {len(literal)} of {len(counted)} readings of the data. With "
        f"rescaled updates it is perfect under {len(rescaled)}. All these runs have 128 examples of each "
        "environment in a batch.",
        number=f"{median_and_range(chosen.rescaled)} % test accuracy with rescaled updates",
        verdict=_verdict(chosen.as_published, chosen.rescaled),
    )


def _verdict(literal: pd.Series, rescaled: pd.Series) -> str:
    """Return the verdict from the test accuracies of the chosen reading's seeds."""
    for runs, how in ((literal, ""), (rescaled, "with rescaled updates in ")):
        perfect = int((runs >= PERFECT).sum())
        if perfect == len(runs) and not how:
            return "reproduced"
        if perfect:
            return f"in part: {how}{perfect} of {len(runs)} seeds"
    return "not reproduced"


def environments(plain: pd.DataFrame, masked: pd.DataFrame) -> Claim:
    """Return the claim on figure 15: how many environments plain training needs to find the mechanism."""
    most = int(plain.n_environments.max())
    mean = min(_perfect(plain), default=None)
    perfect = {
        threshold: _perfect(masked[masked.threshold == threshold])
        for threshold in sorted(masked.threshold.unique())
    }
    first = min(perfect.get(UNANIMITY, []), default=None)
    if mean is None:
        verdict = "not reproduced: plain training never finds the mechanism"
    elif first is None or first >= mean:
        verdict = "not reproduced"
    else:
        verdict = f"reproduced with {CHOSEN.revolutions:g} revolutions"
        verdict += "" if mean == PUBLISHED_ENVIRONMENTS else ", with another number of environments"
    reached = "; ".join(
        f"{_sizes(sizes)} with threshold {threshold:g}" for threshold, sizes in perfect.items()
    )
    words = f"with none up to {most:,}" if mean is None else f"first with {mean:,}"
    at_first = plain.loc[plain.n_environments == mean, "test/accuracy"] >= PERFECT
    how_many = "" if mean is None else f" ({at_first.sum()} of {len(at_first)} seeds reach it there)"
    return Claim(
        short="Plain training needs very many environments",
        claim="On the spirals plain training needs very many environments to find the mechanism (figure 15).",
        paper=f"Plain training finds it first with {PUBLISHED_ENVIRONMENTS:,} environments (best of five "
        "runs).",
        ours=f"A method finds the mechanism if the best of n = {seeds_per_point(plain, masked)} seeds "
        f"reaches {100 * PERFECT:.0f} % test accuracy. Plain training finds it {words} "
        f"environments{how_many}. Its steps have 128 examples of all environments together. The AND-mask "
        f"finds it with these numbers of environments: {reached}. We tried "
        f"{_sizes(sorted(masked.n_environments.unique()))}. Its steps have 128 examples of each environment, "
        "and 4,096 in all beyond 32 environments. Both methods have the thesis's configuration. The spirals "
        f"have {CHOSEN.revolutions:g} revolutions, which we chose.",
        number=f"{words} environments",
        verdict=verdict,
    )


def _perfect(runs: pd.DataFrame) -> list[int]:
    """Return the numbers of environments at which the best seed is perfect, in increasing order."""
    best = runs.groupby("n_environments")["test/accuracy"].max()
    return [int(size) for size in best.index[best >= PERFECT]]


def _sizes(sizes: list[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes) or "none"
