"""The claim about cows and camels: with every example an environment, a cue of 80 % is no invariance."""

from __future__ import annotations

from pathlib import Path

from ilc.experiments.irm.cue import AGREES, COWS, LABEL_NOISE, THRESHOLD, digit_alone, read_cue
from ilc.figures.claims import Claim
from ilc.figures.style import median_and_range

DROPPED = 0.9
"""Of the accuracy of the digit alone, reached where the colour misleads: then the digit is what is used."""


def claims(results: Path) -> list[Claim]:
    """The appendix to section 4, from ``irm/cue_runs.csv``."""
    runs = read_cue(results)
    cows = runs[runs[LABEL_NOISE] == COWS]
    thresholds = sorted(float(threshold) for threshold in cows[THRESHOLD].unique())
    test = {threshold: cows[cows[THRESHOLD] == threshold]["test/accuracy"] for threshold in thresholds}
    bar = DROPPED * digit_alone(COWS)
    # Without a mask, at threshold 0, nothing is dropped by one.
    alone, masked = test[0], {threshold: values for threshold, values in test.items() if threshold > 0}
    dropped = any(values.min() >= bar for values in masked.values())
    better = any(values.median() > alone.median() for values in masked.values())
    each = ", ".join(f"{threshold:g}: {median_and_range(values)}" for threshold, values in test.items())
    last = thresholds[-1]
    return [
        Claim(
            short="A mask over examples drops a strong cue",
            claim="cows and camels: with every example an environment of its own, a cue that agrees with the "
            "label in 80 % of the examples is dropped for what holds in all (appendix to section 4)",
            paper="argued, not measured: grass is predictive of cows in 80 %, so it cannot be the cow",
            ours=f"digits with a colour for grass: test accuracy, where the colour agrees with the label in "
            f"{100 * AGREES['test']:.0f} %, by threshold: {each}; median and range, n = "
            f"{cows.groupby(THRESHOLD).seed.nunique().min()} seeds; the digit alone is worth "
            f"{100 * digit_alone(COWS):.0f} %, the colour alone {100 * AGREES['test']:.0f} %; "
            f"{cows.data_source.iloc[0]}",
            number=f"{100 * test[last].median():.1f} % test accuracy at {last:g}, "
            f"{100 * alone.median():.1f} % without",
            verdict=_verdict(dropped, better),
        )
    ]


def _verdict(dropped: bool, better: bool) -> str:
    if dropped:
        return "pattern reproduced on a stand-in"
    return f"{'in part' if better else 'not reproduced'}, on a stand-in"
