"""The claims of section 3.2 on random and true labels, with verdicts that the numbers decide.

The rules were written on 25 November 2026, before the first run on CIFAR-10 (JPEG copy) with all 50,000
images ended.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.results import (
    NOISE,
    RATE_FALLS,
    THRESHOLD,
    curves_of,
    pending,
    runs_of,
    seeds_per,
)
from lab.experiments.memorisation.verdicts import in_seeds, verdict
from lab.figures.claims import Claim
from lab.figures.pending import number_of_runs
from lab.figures.style import data_sources, median_and_range

SMALL = 0.2
"""The threshold that the paper found best with wrong labels. The claims call it "a small threshold"."""
MEMORISED, PREVENTED = 0.95, 0.4
"""Limits of training accuracy on random labels.

Labels are memorised from the first value upwards. Memorisation is prevented up to the second value."""
CHANCE, SAME = 0.1, 0.05
HURT = 0.02
"""The test accuracy that a seed may lose, which is five standard errors on 10,000 images."""
MOST = 0.8
"""The share of plain training's gain over chance, in test accuracy, that counts as most of it."""
STILL_RISING = 0.02
"""A run is still rising if it gains this much training accuracy at the last learning rate.

That rate holds in the last quarter of the epochs."""


def claims(results: Path) -> list[Claim]:
    """Return the claims on random labels, on true labels, and on test accuracy beside training accuracy."""
    group_norm = _random_labels(results, "random_labels_group_norm")._replace(
        short="With GroupNorm a small threshold prevents memorising",
        claim="With GroupNorm the votes are exact. Plain training memorises random labels, and a small "
        f"threshold ({SMALL:g}) prevents it.",
        paper="The paper does not make this claim.",
    )
    return [
        _random_labels(results, "random_labels"),
        group_norm,
        _true_labels(results),
        _test_beside_train(results),
    ]


def _open(claim: Claim, results: Path, name: str) -> Claim:
    """Return the claim as pending, because there are not enough runs for a verdict."""
    unfinished = pending(results, name)
    return claim._replace(
        ours=f"There is no number yet: {unfinished}.",
        number=number_of_runs(unfinished),
        verdict=f"pending: {unfinished}",
    )


def _about(runs: pd.DataFrame) -> str:
    """Return the number of seeds and the data, in words that end a sentence and add another one."""
    return f"{seeds_per(runs, [THRESHOLD, NOISE])}. The data are {data_sources(runs)}."


def _last(runs: pd.DataFrame, noise: float, key: str) -> pd.DataFrame:
    """Return accuracy at the last epoch, a column per threshold and a row per seed; empty without runs."""
    if runs.empty:
        return pd.DataFrame()
    return runs[runs[NOISE] == noise].pivot(index="seed", columns=THRESHOLD, values=key)


def _rise(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the training accuracy on random labels that was gained at the last learning rate.

    The table has a column per threshold and a row per seed.
    """
    if curves.empty:
        return pd.DataFrame()
    random = curves[curves[NOISE] == 1]
    last, before = random.epoch.max(), RATE_FALLS[-1] * random.epoch.max()
    of = {
        epoch: random[random.epoch == epoch].pivot(index="seed", columns=THRESHOLD, values="train/accuracy")
        for epoch in (last, random.epoch[random.epoch <= before].max())
    }
    end, start = of.values()
    rise: pd.DataFrame = end - start
    return rise


def _prevented(last: pd.DataFrame, rise: pd.DataFrame) -> pd.DataFrame:
    """Return whether memorisation was prevented: a column per threshold and a row per seed.

    It was prevented if the accuracy is low and did not rise at the last learning rate.
    """
    prevented: pd.DataFrame = (last <= PREVENTED) & (rise < STILL_RISING)
    return prevented


def _random_labels(results: Path, name: str) -> Claim:
    """Return the claim on random labels, from the study ``name``.

    Reproduced: plain training memorises the labels and threshold 0.2 prevents it, in all seeds. In part: 0.2
    ends 20 points or more below plain training in all seeds.
    """
    claim = Claim(
        short="A small threshold prevents memorising random labels",
        claim=f"Plain training memorises random labels, and a small threshold ({SMALL:g}) prevents it "
        "(figure 8).",
        paper="Memorisation is quickly hindered as the threshold grows (CIFAR-10).",
        ours="",
        number="",
        verdict="",
    )
    runs = runs_of(results, name)
    last = _last(runs, 1.0, "train/accuracy")
    if not {0.0, SMALL} <= set(last):
        return _open(claim, results, name)
    rise = _rise(curves_of(results, name))
    prevented = _prevented(last, rise)[SMALL][last[SMALL].notna()]
    held_up = last[SMALL].max() <= last[0.0].min() - 0.2
    by_threshold = ", ".join(f"{100 * last[t].median():.0f} at {t:g}" for t in last)
    return claim._replace(
        ours=f"The training accuracy in % at the last epoch is, by threshold: {by_threshold}. At {SMALL:g} "
        f"it is {median_and_range(last[SMALL])}, and at most {100 * rise[SMALL].max():.1f} points of it came "
        f"at the last learning rate. In plain training it is {median_and_range(last[0.0])}. Memorisation is "
        f"prevented if the accuracy is at most {100 * PREVENTED:.0f} % and less than "
        f"{100 * STILL_RISING:.0f} points of it came at the last learning rate. This is so in "
        f"{in_seeds(prevented)}. The numbers are medians and ranges over {_about(runs)}",
        number=f"{100 * last[SMALL].median():.1f} % training accuracy at threshold {SMALL:g}",
        verdict=verdict(
            bool(last[0.0].min() >= MEMORISED and prevented.all()),
            bool(held_up),
            int(last[SMALL].notna().sum()),
            pending(results, name),
        ),
    )


def _true_labels(results: Path) -> Claim:
    """Return the claim on true labels. It is judged at the smallest threshold that prevents memorising.

    The threshold must prevent memorising in all seeds. Reproduced: it loses at most two points of test
    accuracy in all seeds. In part: its median keeps most of what plain training gains over chance. If no
    threshold prevents memorising, the claim is not reproduced.
    """
    claim = Claim(
        short="The same threshold still learns true labels",
        claim="A threshold that prevents memorising random labels does not hurt the test accuracy with true "
        "labels (figure 16).",
        paper="Both plain training and the mask converge and generalise (CIFAR-10).",
        ours="",
        number="",
        verdict="",
    )
    runs = runs_of(results, "random_labels")
    last, test = _last(runs, 1.0, "train/accuracy"), _last(runs, 0.0, "test/accuracy")
    if 0.0 not in test or last.empty:
        return _open(claim, results, "random_labels")
    prevented = _prevented(last, _rise(curves_of(results, "random_labels")))
    separating = [t for t in test.columns if t in prevented and prevented[t][last[t].notna()].all()]
    unfinished = pending(results, "random_labels")
    if not separating:
        return claim._replace(
            ours="None of the thresholds that were run on true labels "
            f"({', '.join(f'{t:g}' for t in test.columns)}) prevents memorising. Each threshold has "
            f"{_about(runs)}",
            number=f"0 of {len(test.columns)} thresholds prevent memorising",
            verdict=verdict(False, False, len(test), unfinished),
        )
    small = min(separating)
    kept = (test[small] >= test[0.0] - HURT)[test[small].notna()]
    gained = (test[small].median() - CHANCE) / (test[0.0].median() - CHANCE)
    return claim._replace(
        ours=f"The smallest threshold that prevents memorising in all seeds is {small:g}. The test accuracy "
        f"in % is {median_and_range(test[0.0])} at threshold 0 and {median_and_range(test[small].dropna())} "
        f"at {small:g}. It is at most two points lower in {in_seeds(kept)}. Plain training gains some "
        f"accuracy over chance, and the median with the mask gains {100 * gained:.0f} % of that. The numbers "
        f"are medians and ranges over {_about(runs)}",
        number=f"{100 * test[small].median():.1f} % test accuracy at threshold {small:g}",
        verdict=verdict(bool(kept.all()), bool(gained >= MOST), len(kept), unfinished),
    )


def _test_beside_train(results: Path) -> Claim:
    """Return the claim on how much training and test accuracy with true labels lose against threshold 0.

    Reproduced: two conditions hold. At every threshold and in every seed, test accuracy loses at most two
    points more than training accuracy. At some threshold whose test accuracy is at least twice chance, the
    two are within five points of each other. In part: the first condition holds in more than half of the
    seeds.
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
    runs = runs_of(results, "random_labels")
    train, test = (_last(runs, 0.0, f"{part}/accuracy") for part in ("train", "test"))
    if 0.0 not in test or len(test.columns) < 2:
        return _open(claim, results, "random_labels")
    lost_train, lost_test = (-part.sub(part[0.0], axis="index") for part in (train, test))
    slower = ((lost_test <= lost_train + HURT) | lost_test.isna()).all(axis="columns")
    # Near chance the two accuracies are equal, whatever the mask does. So such thresholds do not count.
    learned = [float(t) for t in test.columns if test[t].min() >= 2 * CHANCE]
    meet = [t for t in learned if (train[t] - test[t]).abs().max() <= SAME]
    where = ", ".join(f"{t:g}" for t in meet) or "none"
    last = max(learned, default=0.0)
    gap = 100 * (train[last] - test[last]).median()
    table = ", ".join(
        f"{100 * lost_train[t].median():.0f} and {100 * lost_test[t].median():.0f} at {t:g}"
        for t in train.columns[1:]
    )
    return claim._replace(
        ours=f"We compare with threshold 0. Training and test accuracy lose these points: {table}. Test "
        f"accuracy loses at most two points more than training accuracy in {in_seeds(slower)}. We look for "
        "thresholds at which test accuracy is at least twice chance and training accuracy is within "
        f"{100 * SAME:.0f} points of it. These are: {where}. The numbers are medians over {_about(runs)}",
        number=f"{gap:.0f} points between training and test accuracy at threshold {last:g}",
        verdict=verdict(
            bool(slower.all() and meet),
            bool(slower.mean() > 0.5),
            len(test),
            pending(results, "random_labels"),
        ),
    )
