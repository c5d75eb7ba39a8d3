"""The claims about the accuracy of section 3.1's methods, judged with two and with three revolutions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab.experiments.spirals.methods import (
    AND_MASKS,
    BASELINES,
    CHANCE,
    PERFECT,
    above_chance,
    chance_p_value,
    upper_end,
)
from lab.experiments.spirals.three_revolutions import SETTINGS, Setting, Tests, tests_at
from lab.figures.claims import Claim
from lab.figures.holm import LEVEL
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST, at_settings

NEAR = 0.05
"""A baseline counts as at chance if its 95 % interval ends less than this above chance.

Without this bound, a baseline with few seeds would be at chance because nothing is known about it."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on figure 6, from the searches and new seeds at both settings."""
    tests = {setting: tests_at(results, setting) for setting in SETTINGS}
    return [_masks(tests), _baselines(tests)]


def masks_rule(medians: Mapping[str, float], seeds: int) -> str:
    """Return the verdict on the AND-masks at one setting.

    Args:
        medians: the median test accuracy of each AND-mask, by its label.
        seeds: the smallest number of seeds of any of them.
    """
    reached = [label for label, median in medians.items() if median >= PERFECT]
    if seeds < FEWEST:
        return f"undecided: {seeds} seeds"
    if len(reached) == len(medians):
        return "reproduced"
    return f"in part: for {' and '.join(reached)}" if reached else "not reproduced"


def baselines_rule(above: list[bool], upper: list[float], excess: float) -> str:
    """Return the verdict on the baselines at one setting.

    Args:
        above: for each baseline, whether it is significantly above chance.
        upper: for each baseline, the upper end of the 95 % interval of its mean.
        excess: the largest median minus chance.
    """
    count, n = sum(above), len(above)
    if not count:
        wide = sum(end >= CHANCE + NEAR for end in upper)
        return f"undecided: the intervals of {wide} of {n} are too wide" if wide else "reproduced"
    words = f"{count} of {n} are above chance, by at most {100 * excess:.1f} points"
    return f"not reproduced: {words}" if count > n / 2 else f"in part: {words}"


def _masks(tests: dict[Setting, Tests]) -> Claim:
    last = AND_MASKS[-1]
    verdicts = {
        setting.words: masks_rule(
            {label: test[label].median() for label in AND_MASKS}, min(len(test[label]) for label in AND_MASKS)
        )
        for setting, test in tests.items()
    }
    return Claim(
        short="The AND-mask learns the spirals' mechanism",
        claim="On the spirals the AND-mask learns the mechanism (figure 6).",
        paper="The AND-mask is the only method with perfect test accuracy (50 seeds).",
        ours=_at_each(tests, AND_MASKS),
        number=" and ".join(f"{100 * tests[s][last].median():.1f} %" for s in SETTINGS)
        + f" test accuracy ({last}) with 2 and 3 revolutions",
        verdict=at_settings(verdicts),
    )


def _baselines(tests: dict[Setting, Tests]) -> Claim:
    verdicts, words = {}, []
    for setting, test in tests.items():
        above, upper = above_chance(test), [upper_end(test[label]) for label in BASELINES]
        excess = max(test[label].median() for label in BASELINES) - CHANCE
        verdicts[setting.words] = baselines_rule([above[label] for label in BASELINES], upper, excess)
        p_values = ", ".join(f"{label} {chance_p_value(test[label]):.1g}" for label in BASELINES)
        words.append(f"{setting.words} the p values are {p_values}")
    highest = [100 * max(tests[s][label].median() for label in BASELINES) for s in SETTINGS]
    trials = " and ".join(f"{s.trials}" for s in SETTINGS)
    return Claim(
        short="Every baseline's best trial stays at chance",
        claim="On the spirals the best trial of every baseline stays at chance (figure 6).",
        paper="No baseline is significantly better than chance.",
        ours=f"We repeated the best of {trials} trials. {_at_each(tests, BASELINES)} A one-sided t test "
        f"compares each baseline with chance, which is {100 * CHANCE:.0f} %: {'; '.join(words)}. The "
        f"baselines of a setting share a level of {LEVEL:g} (Holm).",
        number=" and ".join(f"{value:.1f} %" for value in highest)
        + " test accuracy at most with 2 and 3 revolutions",
        verdict=at_settings(verdicts),
    )


def _at_each(tests: dict[Setting, Tests], labels: list[str]) -> str:
    """Return the test accuracies of some methods at both settings, in sentences."""
    parts = []
    for setting, test in tests.items():
        each = "; ".join(
            f"{label} {median_and_range(test[label])}, n = {len(test[label])}" for label in labels
        )
        parts.append(f"{setting.words.capitalize()} and {setting.epochs} epochs: {each}.")
    return f"Test accuracy in %, medians and ranges over new seeds. {' '.join(parts)}"
