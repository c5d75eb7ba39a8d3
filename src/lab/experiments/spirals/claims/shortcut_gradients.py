"""The claim that the AND-mask takes the shortcuts out of an untrained network's gradient."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import binomtest

from lab.experiments.spirals.claims.gradients import ends, highest_median, rows_at
from lab.experiments.spirals.correlations import MIN_COMPONENTS, in_all_networks
from lab.experiments.spirals.settings import LEFT_OPEN, SETTINGS
from lab.experiments.spirals.unanimous import FEWEST_COMPONENTS, Unanimous, read_unanimous
from lab.figures.claims import Claim
from lab.figures.holm import LEVEL
from lab.figures.verdicts import FEWEST, at_settings

ALMOST_ALL = 0.9
"""The share of networks in which most of a correlation must go, so that it counts as suppressed."""
MOST = 0.5
"""Most of a correlation is gone if less than this share of it is left."""
PARTS = {"all": "all parameters", "first layer weights": "the first layer's weights"}


def claims(results: Path) -> list[Claim]:
    """Return the claim, from the correlations by threshold and from many networks at threshold 1."""
    verdicts, words, numbers = {}, [], []
    for setting in SETTINGS:
        rows, unanimous = rows_at(results, setting), read_unanimous(results, setting)
        masked = rows[rows["mask"] == "and_mask"]
        kept = {
            name: in_all_networks(masked[masked.parameters == name], "shortcut_correlation") for name in PARTS
        }
        overall, first = (_falls(kept[name], MOST) for name in PARTS)
        verdicts[setting.words] = shortcut_rule(overall, first, unanimous.larger, unanimous.measured)
        numbers.append(f"{unanimous.larger} of {unanimous.measured} {setting.words}")
        words.append(
            f"{setting.words.capitalize()} the median correlation with the shortcuts' gradient is "
            f"{'; '.join(_over_thresholds(kept[name], label) for name, label in PARTS.items())}. "
            f"{_at_one(unanimous)}"
        )
    return [
        Claim(
            short="The AND-mask suppresses the shortcuts' part",
            claim="The AND-mask suppresses the shortcuts' part in the average gradient (figure 7).",
            paper="The AND-mask suppresses most of it.",
            thesis="At a threshold near 1 most of the components that are left contain signal from the "
            "mechanism.",
            ours=f"{' '.join(words)} Thresholds below 1 are those at which each of ten networks keeps at "
            f"least {MIN_COMPONENTS} components. A network with fewer than {FEWEST_COMPONENTS} components at "
            "threshold 1 is left out, because it has no correlation.",
            number=f"networks with the mechanism ahead at threshold 1: {', '.join(numbers)}",
            reading=f"which threshold and which parameters are meant, {LEFT_OPEN}",
            verdict=at_settings(verdicts),
        )
    ]


def shortcut_rule(overall: tuple[int, int], first: tuple[int, int], ahead: int, measured: int) -> str:
    """Return the verdict at one setting.

    It is reproduced if the shortcuts' correlation loses more than a half in almost all networks, for all
    parameters, and at threshold 1 the mechanism's correlation is the larger one in more than half of the
    networks. The last is tested with a two-sided binomial test. A fall of more than a half in the first layer
    alone is a part of it. A smaller fall is none, because the source speaks of most of the shortcuts' part.

    Args:
        overall: in how many networks the correlation loses more than a half for all parameters, and how many
            networks there are.
        first: the same for the first layer's weights.
        ahead: in how many networks the mechanism's correlation is larger at threshold 1.
        measured: the number of networks with a correlation at threshold 1.
    """
    if min(overall[1], measured) < FEWEST:
        return f"undecided: {min(overall[1], measured)} networks"
    everywhere, in_first = (k >= ALMOST_ALL * n for k, n in (overall, first))
    sure = binomtest(ahead, measured).pvalue < LEVEL
    left = sure and ahead > measured / 2
    if left and everywhere:
        return "reproduced"
    where = "whole network" if everywhere else "first layer"
    parts = [f"most of it goes in the {where}"] if everywhere or in_first else []
    parts += ["the mechanism leads at threshold 1"] if left else []
    if parts:
        return f"in part: {' and '.join(parts)}{', not at threshold 1' if sure and not left else ''}"
    return "not reproduced" if sure else "undecided: threshold 1 is open"


def _falls(kept: pd.DataFrame, share: float = 1.0) -> tuple[int, int]:
    """Return in how many networks less than a share is left at the last threshold, and how many there are."""
    return int((kept.iloc[:, -1] < share * kept.iloc[:, 0]).sum()), len(kept)


def _over_thresholds(kept: pd.DataFrame, label: str) -> str:
    """Return in words how the correlation changes from the lowest to the highest threshold."""
    (lower, n), (top, height) = _falls(kept), highest_median(kept)
    between = (
        f" (the highest median is {height:.3f} at {top:g})"
        if height > kept.iloc[:, 0].median() and top != float(kept.columns[-1])
        else ""
    )
    return f"{ends(kept)}{between} for {label}, and lower at the second threshold in {lower} of {n} networks"


def _at_one(unanimous: Unanimous) -> str:
    """Return in sentences what is left at threshold 1."""
    median, least, most = unanimous.components
    mechanism, shortcut = unanimous.pooled
    return (
        f"At threshold 1, for all parameters, {unanimous.n} networks keep {median:g} components in the "
        f"median ({least} to {most}). The mechanism's correlation is larger than the shortcuts' in "
        f"{unanimous.larger} of the {unanimous.measured} networks with a correlation; the medians are "
        f"{unanimous.mechanism:.2f} and {unanimous.shortcut:.2f}. Over all kept components together, where "
        f"a few large ones decide, the two correlations are {mechanism:.2f} and {shortcut:.2f}."
    )
