"""The claim about the thesis's best configuration, judged with two and with three revolutions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import PERFECT
from lab.experiments.spirals.reading_outcomes import Outcome, read_outcomes
from lab.experiments.spirals.readings import CHOSEN
from lab.experiments.spirals.three_revolutions import SETTINGS, Setting
from lab.figures.claims import Claim
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST, at_settings


def claims(results: Path) -> list[Claim]:
    """Return the claim, from the runs by reading."""
    return [configuration(read_outcomes(results))]


def configuration(outcomes: list[Outcome]) -> Claim:
    """Return the claim on the thesis's best configuration with the paper's 32 environments.

    The verdict is on the chosen reading and on the same one with the three revolutions of the authors' code;
    the claim also counts the other readings.
    """
    counted = [outcome for outcome in outcomes if outcome.counted == "each"]
    judged: dict[Setting, Outcome] = {
        setting: next(o for o in counted if o.reading == CHOSEN._replace(revolutions=setting.revolutions))
        for setting in SETTINGS
    }
    literal = [outcome.reading for outcome in counted if outcome.as_published.median() >= PERFECT]
    rescaled = [outcome.reading for outcome in counted if outcome.rescaled.median() >= PERFECT]
    each = " ".join(
        f"{setting.words.capitalize()} the test accuracy in % is {median_and_range(outcome.as_published)}. "
        f"With rescaled updates it is {median_and_range(outcome.rescaled)}."
        for setting, outcome in judged.items()
    )
    first = judged[SETTINGS[0]]
    return Claim(
        short="The thesis's best configuration is perfect",
        claim="On the spirals the configuration that the thesis calls its best (threshold 1, L2 1e-4) is "
        "perfect.",
        paper="This configuration worked best in the search, and the AND-mask reaches perfect test accuracy. "
        "The source does not say how many revolutions the spirals have, or whether updates are rescaled. The "
        "authors' code has 3 revolutions.",
        ours=f"{each} The numbers are medians and ranges over n = {len(first.rescaled)} seeds. A reading is "
        "one choice for all that the paper leaves open about the data. The median is perfect under "
        f"{len(literal)} of {len(counted)} readings of the data. With rescaled updates it is perfect under "
        f"{len(rescaled)}. All these runs have 128 examples of each environment in a batch.",
        number=f"{median_and_range(first.rescaled)} % test accuracy with rescaled updates and 2 revolutions",
        reading="how many revolutions the spirals have, and whether updates are rescaled.",
        verdict=at_settings(
            {s.words: configuration_rule(o.as_published, o.rescaled) for s, o in judged.items()}
        ),
    )


def configuration_rule(literal: pd.Series, rescaled: pd.Series) -> str:
    """Return the verdict from the test accuracies of one reading's seeds, without and with rescaled updates.

    It is reproduced if every seed is perfect as published, and in part if any seed is perfect.
    """
    if len(rescaled) < FEWEST:
        return f"undecided: {len(rescaled)} seeds"
    for runs, how in ((literal, ""), (rescaled, "rescaled updates, ")):
        perfect = int((runs >= PERFECT).sum())
        if perfect == len(runs) and not how:
            return "reproduced"
        if perfect:
            return f"in part: {how}{perfect} of {len(runs)} seeds"
    return "not reproduced"
