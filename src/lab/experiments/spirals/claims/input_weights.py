"""The claim about L1 and L2: they suppress neurons that are tuned towards the shortcuts before training."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.figures.claims import Claim


def claims(results: Path) -> list[Claim]:
    """Return the claim of section 3.1 on L1 and L2, from ``spirals/input_weights.csv``."""
    rows = pd.read_csv(results / INPUT_WEIGHTS)
    after = rows[rows.when == "after"].set_index("seed")
    of = {name: after[after.regulariser == name] for name in REGULARISERS}
    before = rows[rows.when == "before"].shortcut_rms.mean()
    alone = of["none"]
    # Runs of the same seed are compared, so that data and network are the same.
    smaller = {
        name: int((of[name].shortcut_rms < alone.shortcut_rms).sum())
        for name in REGULARISERS
        if name != "none"
    }
    tuned = {name: int((of[name].tuned_to_shortcuts < alone.tuned_to_shortcuts).sum()) for name in smaller}
    words = "; ".join(
        f"{REGULARISERS[name].label}: mechanism {_range(table.mechanism_rms)}, shortcuts "
        f"{_range(table.shortcut_rms)}, "
        f"neurons tuned to shortcuts {_range(table.tuned_to_shortcuts)} of the others' strength"
        for name, table in of.items()
    )
    n = len(alone)
    pairs = ", ".join(
        f"{REGULARISERS[name].label} in {count} and {tuned[name]} of {n} seeds"
        for name, count in smaller.items()
    )
    return [
        Claim(
            short="L1 and L2 suppress neurons tuned to shortcuts",
            claim="spirals: with the AND-mask, L1 and L2 help suppress neurons that at initialisation "
            "are tuned towards "
            "the shortcuts",
            paper="named as the reason why they make it robust",
            ours=f"root mean square of the first layer's weights after training ({before:.3f} before): "
            f"{words}; "
            f"median and range, n = {n} seeds; weights on the shortcuts and tuned neurons weaker than "
            "without a "
            f"regulariser: {pairs}",
            number=f"{of['l2'].shortcut_rms.median() / alone.shortcut_rms.median():.2f} x the weights on "
            "shortcuts (L2)",
            verdict=_verdict(
                [count == n for count in smaller.values()],
                {REGULARISERS[name].label: count == n for name, count in tuned.items()},
            ),
        )
    ]


def _verdict(weights: list[bool], neurons: dict[str, bool]) -> str:
    """Return the verdict in words.

    Args:
        weights: for each regulariser, whether the weights on the shortcuts are smaller in every seed.
        neurons: by label of the regulariser, whether the neurons tuned to the shortcuts are weaker in every
            seed.
    """
    suppressed = [label for label, all_seeds in neurons.items() if all_seeds]
    if all(weights) and len(suppressed) == len(neurons):
        return "reproduced"
    if all(weights):
        how = f"with {' and '.join(suppressed)} alone" if suppressed else "no more than others"
        return f"in part: the weights on shortcuts shrink, tuned neurons {how}"
    return "in part" if any(weights) else "not reproduced"


def _range(values: pd.Series) -> str:
    return f"{values.median():.3f} ({values.min():.3f} to {values.max():.3f})"
