"""The rules of section 3.2: from what each seed did to a verdict in words.

The rules were written on 25 November 2026, before the first run on CIFAR-10 (JPEG copy) with all 50,000
images ended. On 26 November a verdict on fewer than three seeds became undecided, when 4 of 30 runs on random
and true labels were done and none of the others. On 28 November, after the runs, the rule on wrong labels got
the source's "slowly but steadily": the test accuracy with the mask rises from each quarter of the epochs to
the next. No other limit changed.
"""

from __future__ import annotations

import pandas as pd

from lab.figures.verdicts import FEWEST

MEMORISED, PREVENTED = 0.95, 0.4
"""Limits of training accuracy on random labels.

Labels are memorised from the first value upwards. Memorisation is prevented up to the second value."""
HELD_UP = 0.2
"""Threshold 0.2 holds memorisation up if it ends so far below plain training in all seeds."""
CHANCE, SAME = 0.1, 0.05
MOST = 0.8
"""The share of plain training's gain over chance, in test accuracy, that counts as most of it."""
FAR_APART, APART = 0.4, 0.2
"""The mask fits wrong labels far less, or less, if it fits this share fewer of them than plain training."""
PAPER_DATA, PAPER_WIDTH = "CIFAR-10,", 64


def in_seeds(holds: pd.Series) -> str:
    """Return in how many of the seeds ``holds`` is true, in words such as ``4 of 5 seeds``."""
    return f"{int(holds.sum())} of {len(holds)} seeds"


def limits(runs: pd.DataFrame) -> str:
    """Return the differences between the runs' setting and the paper's, in words; empty if there are none."""
    words = []
    if not runs.data_source.str.startswith(PAPER_DATA).all():
        words.append("on a JPEG copy" if runs.data_source.str.contains("JPEG").all() else "on other data")
    if "model.width" in runs and (runs["model.width"] != PAPER_WIDTH).any():
        words.append("with a narrower network")
    return ", ".join(words)


def random_labels_rule(lowest_plain: float, highest_mask: float, prevented: bool) -> tuple[bool, bool]:
    """Return whether the claim on random labels holds, and whether a part of it does.

    It holds if plain training memorises the labels and threshold 0.2 prevents it, in all seeds. A part holds
    if 0.2 ends 20 points or more below plain training in all seeds.

    Args:
        lowest_plain: the lowest training accuracy of a seed of plain training.
        highest_mask: the highest training accuracy of a seed at threshold 0.2.
        prevented: whether memorisation is prevented at 0.2 in all seeds.
    """
    return lowest_plain >= MEMORISED and prevented, highest_mask <= lowest_plain - HELD_UP


def true_labels_rule(kept: bool, gained: float) -> tuple[bool, bool]:
    """Return whether the claim on true labels holds, and whether a part of it does.

    Args:
        kept: whether the mask loses at most two points of test accuracy in all seeds.
        gained: the share of plain training's gain over chance that the mask's median has.
    """
    return kept, gained >= MOST


def falls_rule(slower: float, meet: bool) -> tuple[bool, bool]:
    """Return whether the claim on test beside training accuracy holds, and whether a part of it does.

    Args:
        slower: the share of seeds in which test accuracy loses at most two points more at every threshold.
        meet: whether the two accuracies meet at a threshold that still learns.
    """
    return slower == 1 and meet, slower > 0.5


def wrong_labels_rule(below: bool, apart: float, shapes: bool) -> tuple[bool, bool]:
    """Return whether the claim on wrong labels holds, and whether a part of it does.

    Args:
        below: whether the mask's accuracy on wrong labels is below chance in all seeds.
        apart: the lowest accuracy on wrong labels of plain training minus the highest of the mask.
        shapes: whether the test accuracy of plain training falls after its peak, and the mask's does not and
            rises from each quarter of the epochs to the next, in all seeds.
    """
    return below and apart >= FAR_APART and shapes, apart >= APART


def verdict(
    found: tuple[bool, bool], n_seeds: int, limit: str = "", unfinished: str = "", finding: bool = False
) -> str:
    """Return the verdict on a claim, in words.

    Args:
        found: whether everything that the claim says holds, and whether a part of it does.
        n_seeds: the number of seeds. Fewer than three decide nothing.
        limit: the differences between our setting and the paper's, in words.
        unfinished: how many runs are done, in words, if others are pending. Then the verdict is pending.
        finding: whether the claim is a finding of ours.
    """
    holds, in_part = found
    if unfinished:
        return f"pending: {unfinished}"
    if n_seeds < FEWEST:
        return f"undecided: {n_seeds} seed{'s' if n_seeds > 1 else ''}"
    where = f", {limit}" if limit else ""
    if holds:
        whole = "holds" if finding else "reproduced"
        return f"in part: the whole pattern{where}" if where else whole
    if in_part:
        return f"in part: not the whole pattern{where}"
    return f"{'does not hold' if finding else 'not reproduced'}{where}"
