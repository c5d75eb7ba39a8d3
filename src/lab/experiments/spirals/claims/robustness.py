"""The claim that L1 or L2 makes the AND-mask robust, judged at every setting that has searches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from lab.experiments.spirals.methods import AND_MASKS, METHODS, PERFECT
from lab.experiments.spirals.settings import (
    AUTHORS,
    LEFT_OPEN,
    THREE,
    TWO,
    WHOLE,
    settings_of_methods,
    tests_at,
    trials_at,
)
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.verdicts import at_settings, significant

ENDED = (
    f"{AUTHORS.words.capitalize()} and {TWO.with_epochs} a trial ends when all examples are right. "
    f"{WHOLE.with_epochs.capitalize()} other seeds of the same configurations are counted at the last epoch, "
    "without this rule."
)


def claims(results: Path) -> list[Claim]:
    """Return the claim on robustness, from the searches and new seeds of each setting with searches.

    It counts the random configurations that succeed, and the new seeds of the best one that do.
    """
    settings = [setting for setting in settings_of_methods(results) if setting != WHOLE]
    tests = {setting: tests_at(results, setting) for setting in settings}
    names = {label: name for name, label in METHODS.items()}
    verdicts, rows = {}, []
    for setting in settings:
        perfect = {}
        for label in AND_MASKS:
            trials = trials_at(results, setting, names[label])
            reached = trials[trials.state == "COMPLETE"]["test/accuracy"] >= PERFECT
            perfect[label] = (int(reached.sum()), len(reached))
        verdicts[setting.words] = robustness_rule(perfect)
        rows += [
            {
                "setting": setting.with_epochs,
                "method": label,
                "trials": f"{k} of {n}",
                "new seeds": _seeds(tests[setting][label]),
            }
            for label, (k, n) in perfect.items()
        ]
    last, whole = AND_MASKS[-1], _at_the_end(results)
    return [
        Claim(
            short="L1 or L2 makes the AND-mask robust",
            claim="On the spirals the AND-mask is most robust together with L1 or L2.",
            paper="The AND-mask with L1 or L2 has the most robust results overall.",
            ours=f"The table counts the trials of each search that reach at least {100 * PERFECT:.0f} % test "
            "accuracy, and the new seeds of the best trial that reach it. The "
            "verdict compares the trials. A trial that diverges is replaced and not counted. "
            f"{THREE.words.capitalize()} and PyTorch's weights a trial at chance half-way was ended."
            f"{' ' + ENDED if whole else ''}",
            table=as_markdown(rows + whole),
            number=f"reaching {100 * PERFECT:.0f} % ({last}): "
            + ", ".join(f"{_seeds(tests[setting][last])} {setting.words}" for setting in settings),
            reading=LEFT_OPEN,
            verdict=at_settings(verdicts),
        )
    ]


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
        float(fisher_exact(np.array([[a, b - a], [k, n - k]]), alternative="greater").pvalue)
        for _, (a, b) in others
    ]
    more = [label for (label, _), sure in zip(others, significant(p_values), strict=True) if sure]
    if len(more) == len(others):
        return "reproduced"
    if more:
        return f"in part: for {' and '.join(more)}"
    higher = any(a / b > k / n for _, (a, b) in others)
    return "undecided: too few perfect trials to tell" if higher else "not reproduced"


def _at_the_end(results: Path) -> list[dict[str, str]]:
    """Return the rows on how many seeds are perfect at the end of whole training; none without runs."""
    if WHOLE not in settings_of_methods(results):
        return []
    tests = tests_at(results, WHOLE)
    return [
        {"setting": WHOLE.with_epochs, "method": label, "trials": "", "new seeds": _seeds(tests[label])}
        for label in AND_MASKS
    ]


def _seeds(test: pd.Series) -> str:
    return f"{(test >= PERFECT).sum()} of {len(test)} seeds"
