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
    without = of["none"]
    # Runs of the same seed are compared, so that data and network are the same.
    smaller = {
        name: int((of[name].shortcut_rms < without.shortcut_rms).sum())
        for name in REGULARISERS
        if name != "none"
    }
    tuned = {name: int((of[name].tuned_to_shortcuts < without.tuned_to_shortcuts).sum()) for name in smaller}
    words = "; ".join(
        f"{REGULARISERS[name].label}: weights on the mechanism {_range(table.mechanism_rms)}, weights on the "
        f"shortcuts {_range(table.shortcut_rms)}, strength of tuned neurons "
        f"{_range(table.tuned_to_shortcuts)}"
        for name, table in of.items()
    )
    n = len(without)
    pairs = ", ".join(
        f"{REGULARISERS[name].label} in {count} and {tuned[name]} of {n} seeds"
        for name, count in smaller.items()
    )
    return [
        Claim(
            short="L1 and L2 suppress neurons tuned to shortcuts",
            claim="On the spirals, with the AND-mask, L1 and L2 help to suppress neurons that are tuned "
            "towards the shortcuts at initialisation.",
            paper="The paper names this as the reason why L1 and L2 make the AND-mask robust.",
            ours="We measure the root mean square of the first layer's weights after training (it is "
            f"{before:.3f} before training), and the strength of the neurons tuned to shortcuts as a "
            f"multiple of the strength of the other neurons. The results are: {words}. The numbers are "
            f"medians and ranges over n = {n} seeds. We count the seeds in which the weights on the "
            "shortcuts, and then those in which the tuned neurons, are weaker than without a regulariser: "
            f"{pairs}.",
            number=f"{of['l2'].shortcut_rms.median() / without.shortcut_rms.median():.2f} times the weights "
            "on shortcuts without L2",
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
        how = f"only with {' and '.join(suppressed)}" if suppressed else "with no regulariser"
        return f"in part: the weights on shortcuts shrink, tuned neurons weaken in all seeds {how}"
    return "in part" if any(weights) else "not reproduced"


def _range(values: pd.Series) -> str:
    return f"{values.median():.3f} ({values.min():.3f} to {values.max():.3f})"
