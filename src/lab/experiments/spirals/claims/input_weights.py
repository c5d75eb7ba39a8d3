"""The claim about L1 and L2: they suppress neurons that are tuned towards the shortcuts before training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from scipy.stats import binomtest

from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.experiments.spirals.settings import (
    AUTHORS,
    INPUT_WEIGHTS_OF_AUTHORS,
    INPUT_WEIGHTS_OF_THREE,
    LEFT_OPEN,
    THREE,
    TWO,
)
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import median_and_range
from lab.figures.verdicts import at_settings, significant

TABLES = {AUTHORS: INPUT_WEIGHTS_OF_AUTHORS, TWO: INPUT_WEIGHTS, THREE: INPUT_WEIGHTS_OF_THREE}
LABELS = {
    AUTHORS: {"l1": "L1 1e-6", "l2": "L2 1e-5"},
    TWO: {"l1": "L1 1e-6", "l2": "L2 1e-5"},
    THREE: {"l1": "L1 1e-6", "l2": "L2 1e-4"},
}
"""The regularisers of each setting, which are those of its searches' best trials."""
LEARNED = 0.6
"""Below this training accuracy a network has learned nothing; chance is 0.5."""
Counts = dict[str, int]


def claims(results: Path) -> list[Claim]:
    """Return the claim of section 3.1 on L1 and L2, from the weights at every setting."""
    verdicts, lines, numbers = {}, [], []
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
        each = " and ".join(f"{label} in {count} of {len(without)} seeds" for label, count in tuned.items())
        numbers.append(f"{each} {setting.words}")
        lines += _rows(setting.words, of, labels, smaller, tuned)
    return [
        Claim(
            short="L1 and L2 suppress neurons tuned to shortcuts",
            claim="On the spirals, with the AND-mask, L1 and L2 help to suppress neurons that are tuned "
            "towards the shortcuts at initialisation.",
            paper="The paper names this as the reason why L1 and L2 make the AND-mask robust.",
            ours="We measure the root mean square of the first layer's weights after training, and the "
            "strength of the neurons tuned to shortcuts as a multiple of the strength of the other neurons. "
            "The table has medians and ranges over seeds. Its last columns count the seeds with smaller "
            "weights on the shortcuts and with weaker tuned neurons than without a regulariser. The counts "
            "of a setting are compared with a half by sign tests, with Holm's correction. Seeds that learn "
            f"nothing (a training accuracy below {100 * LEARNED:.0f} %) count too.",
            table=as_markdown(lines),
            number=f"tuned neurons are weaker with {'; '.join(numbers)}",
            reading=LEFT_OPEN,
            verdict=at_settings(verdicts),
        )
    ]


def weights_rule(weights: Mapping[str, int], neurons: Mapping[str, int], n: int) -> str:
    """Return the verdict at one setting.

    A regulariser suppresses something if it is weaker than without a regulariser in significantly more than
    half of the seeds (two-sided sign tests, with Holm's correction over all of them). It does not if it is
    weaker in half of the seeds or fewer. Anything between is open, and so is everything with so few seeds
    that no test could be significant.

    Args:
        weights: by regulariser, in how many seeds the weights on the shortcuts are smaller.
        neurons: by regulariser, in how many seeds the neurons tuned to the shortcuts are weaker.
        n: the number of seeds.
    """
    counts = (*weights.values(), *neurons.values())
    if not any(significant([_sign_p_value(n, n)] * len(counts))):
        return f"undecided: {n} seeds"
    sure = significant([_sign_p_value(count, n) for count in counts])
    outcomes = [
        "suppressed" if yes and count > n / 2 else "open" if count > n / 2 else "not"
        for count, yes in zip(counts, sure, strict=True)
    ]
    of_weights = dict(zip(weights, outcomes[: len(weights)], strict=True))
    of_neurons = dict(zip(neurons, outcomes[len(weights) :], strict=True))
    shrink = [label for label, outcome in of_weights.items() if outcome == "suppressed"]
    weaker = [label for label, outcome in of_neurons.items() if outcome == "suppressed"]
    unclear = [label for label, outcome in of_neurons.items() if outcome == "open"]
    if set(outcomes) == {"suppressed"}:
        return "reproduced"
    if not (shrink or weaker):
        return "undecided: seeds differ" if "open" in outcomes else "not reproduced"
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


def _sign_p_value(count: int, n: int) -> float:
    return float(binomtest(count, n).pvalue)


def _rows(
    where: str, of: dict[str, pd.DataFrame], labels: dict[str, str], smaller: Counts, tuned: Counts
) -> list[dict[str, str]]:
    """Return the rows of the table for one setting, one for each regulariser."""
    named = {"none": "no regulariser", **labels}
    n = len(of["none"])
    return [
        {
            "setting": where,
            "regulariser": named[name],
            "weights on the mechanism": _range(table.mechanism_rms),
            "weights on the shortcuts": _range(table.shortcut_rms),
            "strength of tuned neurons": _range(table.tuned_to_shortcuts),
            "training accuracy in %": median_and_range(table["train/accuracy"]),
            "learn nothing": f"{(table['train/accuracy'] < LEARNED).sum()} of {n}",
            "smaller weights": f"{smaller[named[name]]} of {n}" if name in labels else "",
            "weaker neurons": f"{tuned[named[name]]} of {n}" if name in labels else "",
        }
        for name, table in of.items()
    ]


def _range(values: pd.Series) -> str:
    return f"{values.median():.3f} ({values.min():.3f} to {values.max():.3f})"
