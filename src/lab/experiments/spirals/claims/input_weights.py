"""The claim about L1 and L2: they suppress neurons that are tuned towards the shortcuts before training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.experiments.spirals.three_revolutions import INPUT_WEIGHTS_OF_THREE, THREE, TWO
from lab.figures.claims import Claim
from lab.figures.verdicts import FEWEST, at_settings

TABLES = {TWO: INPUT_WEIGHTS, THREE: INPUT_WEIGHTS_OF_THREE}
LABELS = {TWO: {"l1": "L1 1e-6", "l2": "L2 1e-5"}, THREE: {"l1": "L1 1e-6", "l2": "L2 1e-4"}}
"""The regularisers of each setting, which are those of its searches' best trials."""
Counts = dict[str, int]


def claims(results: Path) -> list[Claim]:
    """Return the claim of section 3.1 on L1 and L2, from the weights at both settings."""
    verdicts, parts, weaker = {}, [], []
    for setting, path in TABLES.items():
        rows = pd.read_csv(results / path)
        after = rows[rows.when == "after"].set_index("seed")
        of = {name: after[after.regulariser == name] for name in REGULARISERS}
        labels, without = LABELS[setting], of["none"]
        # Runs of the same seed are compared, so that data and network are the same.
        smaller = {labels[name]: int((of[name].shortcut_rms < without.shortcut_rms).sum()) for name in labels}
        tuned = {
            labels[name]: int((of[name].tuned_to_shortcuts < without.tuned_to_shortcuts).sum())
            for name in labels
        }
        verdicts[setting.words] = weights_rule(smaller, tuned, len(without))
        weaker.append([*tuned.values()])
        parts.append(_words(setting.words, of, labels, smaller, tuned))
    return [
        Claim(
            short="L1 and L2 suppress neurons tuned to shortcuts",
            claim="On the spirals, with the AND-mask, L1 and L2 help to suppress neurons that are tuned "
            "towards the shortcuts at initialisation.",
            paper="The paper names this as the reason why L1 and L2 make the AND-mask robust.",
            ours="We measure the root mean square of the first layer's weights after training, and the "
            "strength of the neurons tuned to shortcuts as a multiple of the strength of the other neurons. "
            f"The numbers are medians and ranges over n = {len(without)} seeds. {' '.join(parts)}",
            number="tuned neurons are weaker with "
            + " and with ".join(
                f"{label[:2]} in {' and '.join(map(str, counts))} of {len(without)} seeds"
                for label, counts in zip(LABELS[TWO].values(), zip(*weaker, strict=True), strict=True)
            )
            + " (2 and 3 revolutions)",
            reading="how many revolutions the spirals have. The paper does not say, and the authors' "
            "code has three.",
            verdict=at_settings(verdicts),
        )
    ]


def weights_rule(weights: Mapping[str, int], neurons: Mapping[str, int], n: int) -> str:
    """Return the verdict at one setting.

    A regulariser suppresses something if it is weaker than without a regulariser in every seed, and does not
    if it is weaker in half of the seeds or fewer. Anything between is open.

    Args:
        weights: by regulariser, in how many seeds the weights on the shortcuts are smaller.
        neurons: by regulariser, in how many seeds the neurons tuned to the shortcuts are weaker.
        n: the number of seeds.
    """
    if n < FEWEST:
        return f"undecided: {n} seeds"
    all_seeds = [count == n for count in (*weights.values(), *neurons.values())]
    if all(all_seeds):
        return "reproduced"
    shrink = [label for label, count in weights.items() if count == n]
    weaker = [label for label, count in neurons.items() if count == n]
    unclear = [label for label, count in neurons.items() if n / 2 < count < n]
    if not (shrink or weaker):
        unclear_weights = any(n / 2 < count < n for count in weights.values())
        return "undecided: seeds differ" if unclear or unclear_weights else "not reproduced"
    parts = [f"weights on shortcuts shrink with {' and '.join(shrink)}" if shrink else ""]
    parts.append(
        f"tuned neurons weaken with {' and '.join(weaker)}"
        if weaker
        else "tuned neurons do not weaken"
        if not unclear
        else ""
    )
    parts.append(f"it is open whether tuned neurons weaken with {' and '.join(unclear)}" if unclear else "")
    return f"in part: {', '.join(part for part in parts if part)}"


def _words(
    where: str, of: dict[str, pd.DataFrame], labels: dict[str, str], smaller: Counts, tuned: Counts
) -> str:
    named = {"none": "no regulariser", **labels}
    each = "; ".join(
        f"{named[name]}: weights on the mechanism {_range(table.mechanism_rms)}, weights on the shortcuts "
        f"{_range(table.shortcut_rms)}, strength of tuned neurons {_range(table.tuned_to_shortcuts)}, "
        f"training accuracy {100 * table['train/accuracy'].median():.0f} %"
        for name, table in of.items()
    )
    n = len(of["none"])
    pairs = ", ".join(
        f"{label} in {count} and {tuned[label]} of {n} seeds" for label, count in smaller.items()
    )
    return (
        f"W{where[1:]}: {each}. The weights on the shortcuts, and then the tuned neurons, are weaker than "
        f"without a regulariser with {pairs}."
    )


def _range(values: pd.Series) -> str:
    return f"{values.median():.3f} ({values.min():.3f} to {values.max():.3f})"
