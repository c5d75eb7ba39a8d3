"""The claims about the accuracy of section 3.1's methods, judged at every setting that has all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import (
    AND_MASKS,
    BASELINES,
    CHANCE,
    METHODS,
    NAMED_AT_CHANCE,
    PERFECT,
    above_chance,
    chance_p_value,
    upper_end,
)
from lab.experiments.spirals.settings import (
    AUTHORS,
    LEFT_OPEN,
    Setting,
    Tests,
    pending_runs,
    runs_at,
    settings_of_methods,
    tests_of,
)
from lab.figures.claims import Claim
from lab.figures.holm import LEVEL
from lab.figures.markdown_table import as_markdown
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST, at_settings
from lab.files.stopped_column import DIVERGED

UNNAMED = METHODS["irm"]
NEAR = 0.05
"""A baseline counts as at chance if its 95 % interval ends less than this above chance.

Without this bound, a baseline with few seeds would be at chance because nothing is known about it."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on figure 6, from the searches and new seeds at all settings."""
    runs = {setting: runs_at(results, setting) for setting in settings_of_methods(results)}
    tests = {setting: tests_of(each) for setting, each in runs.items()}
    rest = "".join(
        f" {n - done} of {n} runs of `{study}` are pending."
        for study, (done, n) in pending_runs(results).items()
        if done < n
    )
    return [_masks(tests, f"{_diverged(runs)}{rest}"), _baselines(tests, rest)]


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
    """Return the verdict on the baselines that the source names, at one setting.

    The source says that none of them is significantly better than chance. So one that is contradicts it.

    Args:
        above: for each baseline, whether it is significantly above chance.
        upper: for each baseline, the upper end of the 95 % interval of its mean.
        excess: the largest median minus chance.
    """
    count, n = sum(above), len(above)
    if not count:
        wide = sum(end >= CHANCE + NEAR for end in upper)
        return f"undecided: the intervals of {wide} of {n} are too wide" if wide else "reproduced"
    return f"not reproduced: {count} of {n} are above chance, by at most {100 * excess:.1f} points"


def _masks(tests: dict[Setting, Tests], rest: str) -> Claim:
    last = AND_MASKS[-1]
    verdicts = {
        setting.with_epochs: masks_rule(
            {label: test[label].median() for label in AND_MASKS}, min(len(test[label]) for label in AND_MASKS)
        )
        for setting, test in tests.items()
    }
    return Claim(
        short="The AND-mask learns the spirals' mechanism",
        claim="On the spirals the AND-mask learns the mechanism (figure 6).",
        paper="The AND-mask is the only method with perfect test accuracy (50 seeds).",
        ours=f"{_repeated(tests)}{rest}",
        table=_at_each(tests, AND_MASKS),
        number=f"test accuracy ({last}): "
        + ", ".join(
            f"{100 * test[last].median():.1f} % {setting.with_epochs}" for setting, test in tests.items()
        ),
        reading=LEFT_OPEN,
        verdict=at_settings(verdicts),
    )


def _baselines(tests: dict[Setting, Tests], rest: str) -> Claim:
    verdicts, highest = {}, []
    for setting, test in tests.items():
        above = above_chance(test, NAMED_AT_CHANCE)
        best = max(test[label].median() for label in NAMED_AT_CHANCE)
        verdicts[setting.with_epochs] = baselines_rule(
            [*above.values()], [upper_end(test[label]) for label in NAMED_AT_CHANCE], best - CHANCE
        )
        highest.append(f"{100 * best:.1f} % {setting.with_epochs}")
    return Claim(
        short="Every baseline's best trial stays at chance",
        claim="On the spirals the best trial of every baseline stays at chance (figure 6).",
        paper="Nothing with DANN and the standard baselines is significantly better than chance. The "
        f"sentence does not name {UNNAMED}, of which the paper says only that it is not perfect.",
        ours=f"{_repeated(tests)} A one-sided t test, whose p value is in the table, compares each baseline "
        f"with chance, which is {100 * CHANCE:.0f} %. The verdict is on the "
        f"{len(NAMED_AT_CHANCE)} baselines that the source names, so without {UNNAMED}. Those of a setting "
        f"share a level of {LEVEL:g} (Holm).{_dann(tests)}{rest}",
        table=_at_each(tests, BASELINES, p_values=True),
        number=f"highest median test accuracy of the {len(NAMED_AT_CHANCE)}: {', '.join(highest)}",
        verdict=at_settings(verdicts),
    )


def _dann(tests: dict[Setting, Tests]) -> str:
    """Return which weights DANN begins with at the authors' setting, as a sentence."""
    return (
        f" {AUTHORS.words.capitalize()} DANN begins with PyTorch's weights, because their code has no DANN."
        if AUTHORS in tests
        else ""
    )


def _repeated(tests: dict[Setting, Tests]) -> str:
    """Return which configuration the new seeds have, as a sentence."""
    trials = " and ".join(dict.fromkeys(str(setting.trials) for setting in tests))
    return (
        f"We repeated the best of {trials} trials by test accuracy (oracle) with new seeds. The table has "
        "test accuracies in %, medians and ranges over n seeds."
    )


def _at_each(tests: dict[Setting, Tests], labels: list[str], p_values: bool = False) -> str:
    """Return the table of the test accuracies of some methods: a row per method, a column per setting."""

    def cell(accuracies: pd.Series) -> str:
        p_value = f", p = {chance_p_value(accuracies):.1g}" if p_values else ""
        return f"{median_and_range(accuracies)}, n = {len(accuracies)}{p_value}"

    rows = [
        {"method": label} | {setting.with_epochs: cell(test[label]) for setting, test in tests.items()}
        for label in labels
    ]
    return as_markdown(rows)


def _diverged(runs: Mapping[Setting, pd.DataFrame]) -> str:
    """Return how many runs of which method diverged, as a sentence; empty if none did."""
    parts = []
    for setting, own in runs.items():
        n_runs = own.method.value_counts().to_dict()
        failed = own[own.stopped == DIVERGED].method.value_counts(sort=False).to_dict()
        each = " and ".join(f"{count} of {n_runs[label]} of {label}" for label, count in failed.items())
        parts += [f"{each} {setting.with_epochs}"] if each else []
    return f" Of the runs {', '.join(parts)} diverged. They count as chance." if parts else ""
