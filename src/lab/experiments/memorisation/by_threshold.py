"""Accuracies by threshold and seed, for the claims of section 3.2 on random and on true labels."""

from __future__ import annotations

import pandas as pd

from lab.experiments.memorisation.results import NOISE, RATE_FALLS, THRESHOLD, seeds_per
from lab.experiments.memorisation.verdicts import PREVENTED
from lab.figures.claims import Claim
from lab.figures.pending import number_of_runs
from lab.figures.style import data_sources

SMALL = 0.2
"""The threshold that the paper found best with wrong labels. The claims call it "a small threshold"."""
STILL_RISING = 0.02
"""A run is still rising if it gains this much training accuracy at the last learning rate.

That rate holds in the last quarter of the epochs."""


def open_claim(claim: Claim, unfinished: str) -> Claim:
    """Return the claim as pending, because there are not enough runs for a verdict.

    ``unfinished`` says how many of the runs that it compares are done.
    """
    return claim._replace(
        ours=f"There is no number yet: {unfinished}.",
        number=number_of_runs(unfinished),
        verdict=f"pending: {unfinished}",
    )


def about_seeds(runs: pd.DataFrame) -> str:
    """Return the number of seeds and the data, in words that end a sentence and add two more."""
    seeds, data = seeds_per(runs, [THRESHOLD, NOISE]), data_sources(runs)
    return f"{seeds}. The data are {data}. All seeds share this data set and its split."


def last_values(runs: pd.DataFrame, noise: float, key: str) -> pd.DataFrame:
    """Return accuracy at the last epoch, a column per threshold and a row per seed; empty without runs."""
    if runs.empty:
        return pd.DataFrame()
    return runs[runs[NOISE] == noise].pivot(index="seed", columns=THRESHOLD, values=key)


def late_rise(curves: pd.DataFrame) -> pd.DataFrame:
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


def was_prevented(last: pd.DataFrame, rise: pd.DataFrame) -> pd.DataFrame:
    """Return whether memorisation was prevented: a column per threshold and a row per seed.

    It was prevented if the accuracy is low and did not rise at the last learning rate.
    """
    prevented: pd.DataFrame = (last <= PREVENTED) & (rise < STILL_RISING)
    return prevented
