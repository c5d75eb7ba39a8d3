"""The claims about the accuracy of section 3.1's methods, judged with two and with three revolutions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from scipy.stats import fisher_exact

from lab.experiments.spirals.methods import (
    AND_MASKS,
    BASELINES,
    CHANCE,
    METHODS,
    PERFECT,
    above_chance,
    chance_p_value,
    upper_end,
)
from lab.experiments.spirals.three_revolutions import SETTINGS, THREE, TWO, Setting, runs_at, trials_at
from lab.figures.claims import Claim
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST, LEVEL, at_settings, holm

NEAR = 0.05
"""A baseline counts as at chance if its 95 % interval ends less than this above chance.

Without this bound, a baseline with few seeds would be at chance because nothing is known about it."""

Tests = dict[str, pd.Series]
"""The test accuracies of the new seeds, by the method's label."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on figure 6, from the searches and new seeds at both settings."""
    tests = {setting: _tests(results, setting) for setting in SETTINGS}
    return [_masks(tests), _baselines(tests), _robustness(results, tests)]


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


def robustness_rule(perfect: Mapping[str, tuple[int, int]]) -> str:
    """Return the verdict on robustness at one setting.

    A regulariser makes the AND-mask more robust if a larger share of random trials is perfect with it, by
    Fisher's exact test with Holm's correction.

    Args:
        perfect: by label, how many trials are perfect, and how many there are. The first is the AND-mask
            without a regulariser.
    """
    (_, (k, n)), *others = perfect.items()
    p_values = [
        float(fisher_exact([[a, b - a], [k, n - k]], alternative="greater").pvalue) for _, (a, b) in others
    ]
    more = [label for (label, _), sure in zip(others, holm(p_values), strict=True) if sure]
    if len(more) == len(others):
        return "reproduced"
    if more:
        return f"in part: for {' and '.join(more)}"
    higher = any(a / b > k / n for _, (a, b) in others)
    return "undecided: too few perfect trials to tell" if higher else "not reproduced"


def _tests(results: Path, setting: Setting) -> Tests:
    runs = runs_at(results, setting)
    return {label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()}


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


def _robustness(results: Path, tests: dict[Setting, Tests]) -> Claim:
    """Return the claim on robustness.

    It counts the random configurations that succeed, and the new seeds of the best one that do.
    """
    names = {label: name for name, label in METHODS.items()}
    verdicts, parts = {}, []
    for setting in SETTINGS:
        perfect = {}
        for label in AND_MASKS:
            trials = trials_at(results, setting, names[label])
            reached = trials[trials.state == "COMPLETE"]["test/accuracy"] >= PERFECT
            perfect[label] = (int(reached.sum()), len(reached))
        verdicts[setting.words] = robustness_rule(perfect)
        each = "; ".join(
            f"{label}: {k} of {n} trials, then {_seeds(tests[setting][label])}"
            for label, (k, n) in perfect.items()
        )
        parts.append(f"{setting.words}, {each}")
    last = AND_MASKS[-1]
    return Claim(
        short="L1 or L2 makes the AND-mask robust",
        claim="On the spirals the AND-mask is most robust together with L1 or L2.",
        paper="The AND-mask with L1 or L2 has the most robust results overall.",
        ours=f"We count the trials of each search that reach at least {100 * PERFECT:.0f} % test accuracy, "
        f"and then the new seeds of the best trial that reach it: {'. '.join(map(_sentence, parts))}. The "
        f"verdict compares the trials. At {THREE.revolutions:g} revolutions a trial at chance half-way was "
        "ended.",
        number=f"{_seeds(tests[TWO][last])} and {_seeds(tests[THREE][last])} reach {100 * PERFECT:.0f} % "
        f"({last}) with 2 and 3 revolutions",
        verdict=at_settings(verdicts),
    )


def _seeds(test: pd.Series) -> str:
    return f"{(test >= PERFECT).sum()} of {len(test)} seeds"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _at_each(tests: dict[Setting, Tests], labels: list[str]) -> str:
    """Return the test accuracies of some methods at both settings, in sentences."""
    parts = []
    for setting, test in tests.items():
        each = "; ".join(
            f"{label} {median_and_range(test[label])}, n = {len(test[label])}" for label in labels
        )
        parts.append(f"{_sentence(setting.words)} and {setting.epochs} epochs: {each}.")
    return f"Test accuracy in %, medians and ranges over new seeds. {' '.join(parts)}"
