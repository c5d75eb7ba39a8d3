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
from lab.figures.markdown_table import as_markdown
from lab.figures.verdicts import FEWEST, at_settings

ALMOST_ALL = 0.9
"""The share of networks in which most of a correlation must go, so that it counts as suppressed."""
MOST = 0.5
"""Most of a correlation is gone if less than this share of it is left."""
PARTS = {"all": "all parameters", "first layer weights": "the first layer's weights"}


def claims(results: Path) -> list[Claim]:
    """Return the claim, from the correlations by threshold and from many networks at threshold 1."""
    verdicts, lower, at_one, numbers = {}, [], [], []
    for setting in SETTINGS:
        rows, unanimous = rows_at(results, setting), read_unanimous(results, setting)
        masked = rows[rows["mask"] == "and_mask"]
        kept = {
            name: in_all_networks(masked[masked.parameters == name], "shortcut_correlation") for name in PARTS
        }
        overall, first = (_falls(kept[name], MOST) for name in PARTS)
        verdicts[setting.words] = shortcut_rule(overall, first, unanimous.larger, unanimous.measured)
        numbers.append(f"{unanimous.larger} of {unanimous.measured} {setting.words}")
        where = {"setting": setting.words}
        lower += [
            where | {"parameters": label} | _over_thresholds(kept[name]) for name, label in PARTS.items()
        ]
        at_one.append(where | _at_one(unanimous))
    return [
        Claim(
            short="The AND-mask suppresses the shortcuts' part",
            claim="The AND-mask suppresses the shortcuts' part in the average gradient (figure 7).",
            paper="The AND-mask suppresses most of it.",
            thesis="At a threshold near 1 most of the components that are left contain signal from the "
            "mechanism.",
            ours="The first table has median correlations with the shortcuts' gradient, each with its "
            "threshold. These thresholds are those at which each of ten networks keeps at "
            f"least {MIN_COMPONENTS} components. The second table is on threshold 1 and all parameters. "
            f"There a network that keeps fewer than {FEWEST_COMPONENTS} components is left out of the "
            "correlations, because it has none. The last columns are over all kept components of all "
            "networks together, where a few large ones decide.",
            table=f"{as_markdown(lower)}\n{as_markdown(at_one)}",
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


def _over_thresholds(kept: pd.DataFrame) -> dict[str, str]:
    """Return the cells on how the correlation changes from the lowest to the highest threshold."""
    (lower, n), (top, height) = _falls(kept), highest_median(kept)
    return {
        **ends(kept, "shortcuts"),
        "highest median": f"{height:.2f} at {top:g}",
        "lower at the highest threshold": f"{lower} of {n} networks",
    }


def _at_one(unanimous: Unanimous) -> dict[str, str]:
    """Return the cells on what is left at threshold 1."""
    median, least, most = unanimous.components
    mechanism, shortcut = unanimous.pooled
    return {
        "networks": str(unanimous.n),
        "kept components": f"{median:g} ({least} to {most})",
        "mechanism is larger": f"{unanimous.larger} of {unanimous.measured}",
        "mechanism, median": f"{unanimous.mechanism:.2f}",
        "shortcuts, median": f"{unanimous.shortcut:.2f}",
        "mechanism, together": f"{mechanism:.2f}",
        "shortcuts, together": f"{shortcut:.2f}",
    }
