"""The claims of section 3.2 on true labels. ``memorisation/verdicts.py`` has the rules and their dates."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.by_threshold import (
    SMALL,
    about_seeds,
    last_values,
    late_rise,
    open_claim,
    was_prevented,
)
from lab.experiments.memorisation.results import NOISE, curves_of, pending, runs_of
from lab.experiments.memorisation.verdicts import (
    CHANCE,
    SAME,
    falls_rule,
    in_seeds,
    limits,
    true_labels_rule,
    verdict,
)
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import median_and_range

HURT = 0.02
"""The test accuracy that a seed may lose, which is five standard errors on 10,000 images."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on true labels, and on test accuracy beside training accuracy."""
    return [_true_labels(results), _test_beside_train(results)]


def _true_labels(results: Path) -> Claim:
    """Return the claim on true labels. It is judged at the smallest threshold that prevents memorising.

    The threshold must prevent memorising in all seeds. If no threshold does, the claim is not reproduced.
    """
    claim = Claim(
        short="A threshold that prevents memorising learns true labels",
        claim="A threshold that prevents memorising random labels does not hurt the test accuracy with true "
        "labels (figure 16).",
        paper="Both plain training and the mask converge and generalise (CIFAR-10).",
        ours="",
        number="",
        verdict="",
    )
    runs, unfinished = runs_of(results, "random_labels"), pending(results, "random_labels")
    last, test = last_values(runs, 1.0, "train/accuracy"), last_values(runs, 0.0, "test/accuracy")
    if 0.0 not in test or last.empty:
        return open_claim(claim, unfinished)
    prevented = was_prevented(last, late_rise(curves_of(results, "random_labels")))
    separating = [t for t in test.columns if t in prevented and prevented[t][last[t].notna()].all()]
    if not separating:
        return claim._replace(
            ours="None of the thresholds that were run on true labels "
            f"({', '.join(f'{t:g}' for t in test.columns)}) prevents memorising. Each threshold has "
            f"{about_seeds(runs)}",
            number=f"0 of {len(test.columns)} thresholds prevent memorising",
            verdict=verdict((False, False), len(test), limits(runs), unfinished),
        )
    small = min(separating)
    kept = (test[small] >= test[0.0] - HURT)[test[small].notna()]
    gained = (test[small].median() - CHANCE) / (test[0.0].median() - CHANCE)
    return claim._replace(
        ours=f"The smallest threshold that prevents memorising in all seeds is {small:g}. The test accuracy "
        f"in % is {median_and_range(test[0.0])} at threshold 0 and "
        f"{median_and_range(test[small])} at {small:g}. It is at most two points "
        f"lower in {in_seeds(kept)}. Plain training gains some "
        f"accuracy over chance, and the median with the mask gains {100 * gained:.0f} % of that. "
        f"{_at_the_threshold_above(test, float(small))}The numbers are medians and ranges over "
        f"{about_seeds(runs[runs[NOISE] == 0])}",
        number=f"{100 * test[small].median():.1f} % test accuracy at threshold {small:g}",
        verdict=verdict(
            true_labels_rule(bool(kept.all()), float(gained)), len(kept), limits(runs), unfinished
        ),
    )


def _at_the_threshold_above(test: pd.DataFrame, judged: float) -> str:
    """Return the test accuracy at the threshold of the claim on random labels, if another one is judged."""
    if judged == SMALL or SMALL not in test:
        return ""
    lost = 100 * (test[0.0].median() - test[SMALL].median())
    return (
        f"At {SMALL:g}, the threshold of the claim on random labels, it is {median_and_range(test[SMALL])}, "
        f"{lost:.1f} points below threshold 0 (medians). "
    )


def _test_beside_train(results: Path) -> Claim:
    """Return the claim on how much training and test accuracy with true labels lose against threshold 0.

    The two meet at a threshold whose test accuracy is at least twice chance and within five points of
    training accuracy.
    """
    claim = Claim(
        short="Test accuracy falls more slowly than training accuracy",
        claim="With true labels, as the threshold grows, test accuracy falls more slowly than training "
        "accuracy, until both are the same (figure 16).",
        paper="Test performance decreases more slowly, and both eventually reach the same value (CIFAR-10).",
        ours="",
        number="",
        verdict="",
    )
    runs, unfinished = runs_of(results, "random_labels"), pending(results, "random_labels")
    train, test = (last_values(runs, 0.0, f"{part}/accuracy") for part in ("train", "test"))
    if 0.0 not in test or len(test.columns) < 2:
        return open_claim(claim, unfinished)
    lost_train, lost_test = (-part.sub(part[0.0], axis="index") for part in (train, test))
    slower = ((lost_test <= lost_train + HURT) | lost_test.isna()).all(axis="columns")
    # Near chance the two accuracies are equal, whatever the mask does. So such thresholds do not count.
    learned = [float(t) for t in test.columns if test[t].min() >= 2 * CHANCE]
    meet = [t for t in learned if (train[t] - test[t]).abs().max() <= SAME]
    where = ", ".join(f"{t:g}" for t in meet) or "none"
    last = max(learned, default=0.0)
    gap = 100 * (train[last] - test[last]).median()
    lost = [
        {
            "threshold": f"{t:g}",
            "training accuracy, points lost": f"{100 * lost_train[t].median():.0f}",
            "test accuracy, points lost": f"{100 * lost_test[t].median():.0f}",
        }
        for t in train.columns[1:]
    ]
    return claim._replace(
        ours="The table says what is lost against threshold 0. Test "
        f"accuracy loses at most two points more than training accuracy in {in_seeds(slower)}. We look for "
        "thresholds at which test accuracy is at least twice chance and training accuracy is within "
        f"{100 * SAME:.0f} points of it. These are: {where}. The numbers are medians over "
        f"{about_seeds(runs[runs[NOISE] == 0])}",
        table=as_markdown(lost),
        number=f"{gap:.1f} points between training and test accuracy at threshold {last:g}",
        verdict=verdict(
            falls_rule(float(slower.mean()), bool(meet)),
            len(test),
            limits(runs),
            unfinished,
        ),
    )
