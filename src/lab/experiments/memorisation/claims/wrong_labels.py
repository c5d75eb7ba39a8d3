"""The claim of section 3.2 on label noise, judged on whole curves.

``memorisation/verdicts.py`` has the rule and its date.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.by_threshold import open_claim
from lab.experiments.memorisation.results import (
    BEST_RATES,
    RATE,
    SAME_RATE,
    at_best_rates,
    curves_of,
    pending,
    runs_of,
    seeds_per,
)
from lab.experiments.memorisation.verdicts import CHANCE, in_seeds, limits, verdict, wrong_labels_rule
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import data_sources, median_and_range

NAME = "label_noise"
FALL = 0.03
"""The test accuracy that a run must lose after its highest evaluation so that this counts as a fall.

It is above zero because the highest evaluation is partly high by chance."""
NAMES = {"mean": "plain training", "and_mask": "AND-mask"}


def claims(results: Path) -> list[Claim]:
    """Return the claim on 25 % redrawn labels: how many wrong labels are fitted, and whether test falls.

    It compares the runs at the rates that the paper found best, and waits for these runs alone.
    """
    claim = Claim(
        short="The mask does not fit wrong labels",
        claim="With 25 % label noise the mask does not fit the wrong labels. After a peak the test accuracy "
        "of plain training falls, and that of the mask rises steadily (figure 9).",
        paper="With the mask, the accuracy on the mislabelled part is well below chance. Without it, that "
        "part is memorised. The baseline's test accuracy peaks early and falls. The mask's test accuracy "
        "improves slowly but steadily (CIFAR-10).",
        ours="",
        number="",
        verdict="",
    )
    runs, unfinished = runs_of(results, NAME), pending(results, NAME, at_best_rates)
    curves = at_best_rates(curves_of(results, NAME)) if len(runs) else pd.DataFrame()
    if len(runs) == 0 or set(curves.aggregator) != set(NAMES):
        return [open_claim(claim, unfinished)]
    wrong, test, fall, rows = {}, {}, {}, []
    for aggregator, name in NAMES.items():
        chosen = curves[curves.aggregator == aggregator]
        fitted, over = (
            chosen.pivot(index="seed", columns="epoch", values=key)
            for key in ("train/accuracy_mislabeled", "test/accuracy")
        )
        at = over.idxmax(axis="columns").median()
        last, highest = chosen.epoch.max(), over.max(axis="columns")
        wrong[aggregator], test[aggregator] = fitted[last], over[last]
        fall[aggregator] = highest - over[last]
        rows.append(
            {
                "method": name,
                "learning rate": f"{BEST_RATES[aggregator]:g}",
                "wrong labels fitted": median_and_range(wrong[aggregator]),
                "test, highest": median_and_range(highest),
                "its epoch": f"{at:g}",
                "test, last epoch": median_and_range(test[aggregator]),
                f"falls by {100 * FALL:.0f} points": in_seeds(fall[aggregator] >= FALL),
            }
        )
    masked = curves[curves.aggregator == "and_mask"]
    quarter = pd.cut(masked.epoch, 4, labels=False)
    quarters = masked["test/accuracy"].groupby(quarter).mean()
    each = ", ".join(f"{100 * mean:.1f}" for mean in quarters)
    rises = masked.groupby(["seed", quarter])["test/accuracy"].mean().unstack().diff(axis="columns")
    steady = (rises.iloc[:, 1:] > 0).all(axis="columns")
    parts = [
        f"The mask's mean test accuracy in the four quarters of the epochs is {each} %. The learning rate "
        "falls before the last one. The test accuracy rises from each quarter to the next in "
        f"{in_seeds(steady)}."
    ]
    same = runs[(runs.aggregator == "mean") & (runs[RATE] == SAME_RATE["mean"])]
    if len(same):
        parts.append(
            f"Plain training at the mask's rate has a test accuracy of "
            f"{median_and_range(same['test/accuracy'])} % at the end (n = {len(same)})."
        )
    below = wrong["and_mask"] < CHANCE
    apart = wrong["mean"].min() - wrong["and_mask"].max()
    shapes = bool((fall["mean"] >= FALL).all() and (fall["and_mask"] < FALL).all() and steady.all())
    return [
        claim._replace(
            ours="The table has accuracies in %, medians and ranges over "
            f"{seeds_per(curves, ['aggregator'])}. With the mask, the accuracy on the mislabelled part is "
            f"below chance in {in_seeds(below)}. {' '.join(parts)} The data are {data_sources(runs)}.",
            table=as_markdown(rows),
            number=f"{100 * wrong['and_mask'].median():.1f} % of the wrong labels fitted",
            verdict=verdict(
                wrong_labels_rule(bool(below.all()), float(apart), shapes),
                len(below),
                limits(runs),
                unfinished,
            ),
        )
    ]
