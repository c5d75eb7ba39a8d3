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
MEMORISED, PREVENTED, HURT = 0.95, 0.4, 0.02
STILL_RISING = 0.02
"""Training accuracy gained in the last fifth of the epochs before the learning rate falls."""


def claims(results: Path) -> list[Claim]:
    """What a small threshold does to random and to true labels, and test beside training accuracy."""
    runs, curves = threshold_runs(results), threshold_curves(results)
    n = seeds_per(runs, [THRESHOLD, NOISE])
    about = f"{n}; {data_sources(runs)}, scale=small"
    return [_random_labels(runs, curves, about), _true_labels(runs, about), _test_beside_train(runs, about)]


def _last(runs: pd.DataFrame, noise: float, key: str) -> pd.DataFrame:
    """Accuracy at the last epoch: a row per threshold, a column per seed that has all thresholds."""
    table = runs[runs[NOISE] == noise].pivot(index=THRESHOLD, columns="seed", values=key)
    return table.dropna(axis="columns")


def _random_labels(runs: pd.DataFrame, curves: pd.DataFrame, about: str) -> Claim:
    """Prevented means little memorised and no longer rising while the learning rate was still whole."""
    last = _last(runs, 1.0, "train/accuracy")
    over = curves[(curves[NOISE] == 1) & (curves[THRESHOLD] == SMALL)].pivot(
        index="epoch", columns="seed", values="train/accuracy"
    )[last.columns]
    fall = RATE_FALLS[0]
    rising = over.loc[fall] - over.loc[: 0.8 * fall].iloc[-1]
    prevented = (last.loc[SMALL] < PREVENTED) & (rising < STILL_RISING)
    held_up = last.loc[SMALL] < last.loc[0.0] - 0.2
    by_threshold = ", ".join(f"{100 * row.median():.0f} at {t:g}" for t, row in last.iterrows())
    # A threshold that stops everything would prevent memorising too, so true labels must still be learned.
    test = _last(runs, 0.0, "test/accuracy")
    separating = [
        t
        for t in last.index
        if last.loc[t].max() < PREVENTED and test.loc[t].median() >= test.loc[0.0].median() - HURT
    ]
    which = ", ".join(f"{t:g}" for t in separating) or "none"
    return Claim(
        short="A small threshold prevents memorising random labels",
        claim=f"random labels: plain training memorises, a small threshold ({SMALL:g}) prevents it "
        "(figure 8)",
        paper="memorisation is quickly hindered as the threshold grows (CIFAR-10)",
        ours=f"train accuracy at the last epoch {by_threshold}; at {SMALL:g} "
        f"{median_and_range(over.loc[fall])} at epoch {fall}, before the learning rate falls, and "
        f"{median_and_range(last.loc[SMALL])} at the end; prevented at {SMALL:g} (below {PREVENTED:.0%} and "
        f"no longer rising) in {in_seeds(prevented)}; thresholds that hold every seed below {PREVENTED:.0%} "
        f"while true labels lose at most two points of test accuracy: {which}; medians and ranges, {about}",
        number=f"{100 * last.loc[SMALL].median():.1f} % train accuracy at {SMALL:g}",
        verdict=verdict(
            bool(last.loc[0.0].min() >= MEMORISED and prevented.all()),
            bool(held_up.all() or separating),
        ),
    )


def _true_labels(runs: pd.DataFrame, about: str) -> Claim:
    test = _last(runs, 0.0, "test/accuracy")
    kept = test.loc[SMALL] >= test.loc[0.0] - HURT
    return Claim(
        short="The same threshold still learns true labels",
        claim="true labels: the same threshold does not hurt the test accuracy (figure 16)",
        paper="both converge and generalise (CIFAR-10)",
        ours=f"test accuracy {median_and_range(test.loc[0.0])} at threshold 0, "
        f"{median_and_range(test.loc[SMALL])} at {SMALL:g}, at most two points lower in {in_seeds(kept)}; "
        f"median and range, {about}",
        number=f"{100 * test.loc[SMALL].median():.1f} % test accuracy at {SMALL:g}",
        verdict=verdict(bool(kept.all()), bool(kept.mean() > 0.5)),
    )


def _test_beside_train(runs: pd.DataFrame, about: str) -> Claim:
    """True labels: what each threshold takes from the accuracies of threshold 0, and the gap at the end."""
    train, test = (_last(runs, 0.0, f"{part}/accuracy") for part in ("train", "test"))
    lost_train, lost_test = train.loc[0.0] - train, test.loc[0.0] - test
    slower = (lost_test <= lost_train).all()
    largest = float(train.index.max())
    gap = (train - test).loc[largest].abs()
    table = ", ".join(
        f"{100 * lost_train.loc[t].median():.0f} and {100 * lost_test.loc[t].median():.0f} at {t:g}"
        for t in train.index[1:]
    )
    return Claim(
        short="Test accuracy falls more slowly than training accuracy",
        claim="true labels: with the threshold, test accuracy falls more slowly than training accuracy, "
        "until both are the same (figure 16)",
        paper="test performance decreases slower, and they eventually reach the same value (CIFAR-10)",
        ours=f"points lost against threshold 0 in training and in test: {table}; never more in test in "
        f"{in_seeds(slower)}; at {largest:g} training and test {100 * train.loc[largest].median():.0f} and "
        f"{100 * test.loc[largest].median():.0f} %; medians, {about}",
        number=f"gap of {100 * gap.median():.1f} points at {largest:g}",
        verdict=verdict(bool(slower.all() and gap.max() <= 0.05), bool(slower.mean() > 0.5)),
    )
