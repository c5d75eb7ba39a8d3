"""The claims of section 3.2 on random and true labels, with verdicts that the numbers decide."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.memorisation.results import (
    NOISE,
    RATE_FALLS,
    THRESHOLD,
    seeds_per,
    threshold_curves,
    threshold_runs,
)
from ilc.experiments.memorisation.verdicts import in_seeds, verdict
from ilc.figures.claims import Claim
from ilc.figures.style import data_sources, median_and_range

SMALL = 0.2
"""The threshold that the paper found best with wrong labels; "a small threshold" here."""
MEMORISED, PREVENTED = 0.95, 0.4
CHANCE, SAME = 0.1, 0.05
HURT = 0.02
"""Test accuracy that a seed may lose: one standard error of 500 images."""
STILL_RISING = 0.02
"""Training accuracy gained in the last fifth of the epochs before the learning rate falls."""


def claims(results: Path) -> list[Claim]:
    """What a small threshold does to random and to true labels, and test beside training accuracy."""
    runs, curves = threshold_runs(results), threshold_curves(results)
    found = [_random_labels(runs, curves), _true_labels(runs), _test_beside_train(runs)]
    group_norm = threshold_runs(results, "group")
    if len(group_norm):
        claim = _random_labels(group_norm, threshold_curves(results, "group"))
        short = "With GroupNorm a small threshold prevents memorising"
        text = f"with GroupNorm, under which votes are exact: {claim.claim}"
        found.insert(1, claim._replace(short=short, claim=text, paper="not in the paper"))
    return found


def _about(runs: pd.DataFrame) -> str:
    """How many seeds, which data."""
    return f"{seeds_per(runs, [THRESHOLD, NOISE])}; {data_sources(runs)}, scale=small"


def _last(runs: pd.DataFrame, noise: float, key: str) -> pd.DataFrame:
    """Accuracy at the last epoch: a column per threshold, a row per seed that has all thresholds."""
    return runs[runs[NOISE] == noise].pivot(index="seed", columns=THRESHOLD, values=key).dropna()


def _random_labels(runs: pd.DataFrame, curves: pd.DataFrame) -> Claim:
    """Prevented means little memorised and no longer rising while the learning rate was still whole."""
    last = _last(runs, 1.0, "train/accuracy")
    over = curves[(curves[NOISE] == 1) & (curves[THRESHOLD] == SMALL) & curves.seed.isin(last.index)].pivot(
        index="seed", columns="epoch", values="train/accuracy"
    )
    fall = RATE_FALLS[0]
    rising = over[fall] - over[curves.epoch[curves.epoch <= 0.8 * fall].max()]
    prevented = (last[SMALL] < PREVENTED) & (rising < STILL_RISING)
    held_up = last[SMALL] < last[0.0] - 0.2
    by_threshold = ", ".join(f"{100 * last[t].median():.0f} at {t:g}" for t in last)
    # A threshold that stops everything would prevent memorising too, so true labels must still be learned.
    test = _last(runs, 0.0, "test/accuracy")
    separating = [
        t for t in last if last[t].max() < PREVENTED and test[t].median() >= test[0.0].median() - HURT
    ]
    which = ", ".join(f"{t:g}" for t in separating) or "none"
    return Claim(
        short="A small threshold prevents memorising random labels",
        claim=f"random labels: plain training memorises, a small threshold ({SMALL:g}) prevents it "
        "(figure 8)",
        paper="memorisation is quickly hindered as the threshold grows (CIFAR-10)",
        ours=f"train accuracy at the last epoch {by_threshold}; at {SMALL:g} "
        f"{median_and_range(over[fall])} at epoch {fall}, before the learning rate falls, and "
        f"{median_and_range(last[SMALL])} at the end; prevented at {SMALL:g} (below {PREVENTED:.0%} and "
        f"no longer rising) in {in_seeds(prevented)}; thresholds that hold every seed below {PREVENTED:.0%} "
        f"while true labels lose at most two points of test accuracy: {which}; medians and ranges, "
        f"{_about(runs)}",
        number=f"{100 * last[SMALL].median():.1f} % train accuracy at {SMALL:g}",
        verdict=verdict(
            bool(last[0.0].min() >= MEMORISED and prevented.all()),
            bool(held_up.all() or separating),
            len(last),
        ),
    )


def _true_labels(runs: pd.DataFrame) -> Claim:
    test = _last(runs, 0.0, "test/accuracy")
    kept = test[SMALL] >= test[0.0] - HURT
    return Claim(
        short="The same threshold still learns true labels",
        claim="true labels: the same threshold does not hurt the test accuracy (figure 16)",
        paper="both converge and generalise (CIFAR-10)",
        ours=f"test accuracy {median_and_range(test[0.0])} at threshold 0, "
        f"{median_and_range(test[SMALL])} at {SMALL:g}, at most two points lower in {in_seeds(kept)}; "
        f"median and range, {_about(runs)}",
        number=f"{100 * test[SMALL].median():.1f} % test accuracy at {SMALL:g}",
        verdict=verdict(bool(kept.all()), bool(kept.mean() > 0.5), len(test)),
    )


def _test_beside_train(runs: pd.DataFrame) -> Claim:
    """True labels: what each threshold takes from the accuracies of threshold 0, and where they meet."""
    train, test = (_last(runs, 0.0, f"{part}/accuracy") for part in ("train", "test"))
    lost_train, lost_test = (-part.sub(part[0.0], axis="index") for part in (train, test))
    slower = (lost_test <= lost_train + HURT).all(axis="columns")
    # Near chance they are the same whatever the mask does.
    learned = [float(t) for t in test.columns if test[t].min() >= 2 * CHANCE]
    meet = [t for t in learned if (train[t] - test[t]).abs().max() <= SAME]
    where = ", ".join(f"{t:g}" for t in meet) or "none"
    last = max(learned, default=0.0)
    gap = 100 * (train[last] - test[last]).median()
    table = ", ".join(
        f"{100 * lost_train[t].median():.0f} and {100 * lost_test[t].median():.0f} at {t:g}"
        for t in train.columns[1:]
    )
    return Claim(
        short="Test accuracy falls more slowly than training accuracy",
        claim="true labels: with the threshold, test accuracy falls more slowly than training accuracy, "
        "until both are the same (figure 16)",
        paper="test performance decreases slower, and they eventually reach the same value (CIFAR-10)",
        ours=f"points lost against threshold 0 in training and in test: {table}; at most two points more in "
        f"test in {in_seeds(slower)}; thresholds with test accuracy of at least twice chance and training "
        f"accuracy within {100 * SAME:.0f} points of it: {where}; medians, {_about(runs)}",
        number=f"{gap:.0f} points between train and test at {last:g}",
        verdict=verdict(bool(slower.all() and meet), bool(slower.mean() > 0.5), len(test)),
    )
