"""The claims about the gradients of an untrained network on the spirals. The numbers decide the verdicts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.correlations import in_all_networks, mean_interval, read_correlations
from lab.figures.claims import Claim

THESIS_MECHANISM = 0.4


def claims(results: Path) -> list[Claim]:
    """Return the claims on figure 7, from ``spirals/correlations.csv``."""
    rows = read_correlations(results)
    everything, first_layer = rows[rows.parameters == "all"], rows[rows.parameters == "first layer weights"]
    return [_unmasked(everything), _mechanism(everything), _shortcut(everything, first_layer)]


def _unmasked(rows: pd.DataFrame) -> Claim:
    """Return the claim on the signals in the plain average gradient, which is the one at threshold 0."""
    plain = rows[(rows["mask"] == "and_mask") & (rows.agreement_threshold == 0)]
    mechanism, shortcut = plain.mechanism_correlation, plain.shortcut_correlation
    n = len(plain)
    low, high = mean_interval(mechanism)
    larger = int((shortcut > mechanism).sum())
    drowned, about = larger == n, low <= THESIS_MECHANISM <= high
    return Claim(
        short="Shortcuts outweigh the mechanism in untrained gradients",
        claim="In networks that are not trained yet, shortcuts outweigh the mechanism in the average "
        "gradient on the spirals (figure 7).",
        paper="The average gradient has a larger correlation with the shortcuts' gradient than with the "
        f"mechanism's. The correlation with the mechanism's gradient is about {THESIS_MECHANISM} (thesis).",
        ours=f"The correlation with the shortcuts' gradient is {shortcut.mean():.2f}, and the correlation "
        f"with the mechanism's gradient is {mechanism.mean():.2f}. Both are means over n = {n} networks. The "
        f"second mean has a 95 % t interval of {low:.2f} to {high:.2f}, and the networks range from "
        f"{mechanism.min():.2f} to {mechanism.max():.2f}. The correlation with the shortcuts' gradient is "
        f"the larger one in {larger} of {n} networks.",
        number=f"correlation {mechanism.mean():.2f} with the mechanism's gradient",
        verdict="reproduced"
        if drowned and about
        else "reproduced, at another value"
        if drowned
        else "not reproduced",
    )


def _mechanism(rows: pd.DataFrame) -> Claim:
    by_mask = {
        mask: in_all_networks(rows[rows["mask"] == mask], "mechanism_correlation")
        for mask in ("and_mask", "xor_mask")
    }
    kept, dropped = by_mask["and_mask"], by_mask["xor_mask"]
    changes = kept.iloc[:, -1] - kept.iloc[:, 0]
    steady = kept.median().is_monotonic_increasing
    below = dropped.iloc[:, 0].median() < kept.iloc[:, 0].median()
    rises = steady and below and changes.median() > 0
    return Claim(
        short="The AND-mask raises the mechanism's part",
        claim="The AND-mask raises the mechanism's part in the average gradient, and the XOR-mask lowers it "
        "(figure 7).",
        paper="With the AND-mask the correlation with the mechanism's gradient rises with the threshold. "
        "With the XOR-mask there is a sharper decrease (thesis).",
        ours=f"With the AND-mask the median correlation with the mechanism's gradient is {_ends(kept)}. It "
        f"is higher at the second threshold in {int((changes > 0).sum())} of n = {len(kept)} networks. With "
        f"the XOR-mask the median correlation is {dropped.iloc[:, 0].median():.2f} at threshold "
        f"{dropped.columns[0]:g}.",
        number=f"correlation {_highest(kept)}",
        verdict="not reproduced"
        if not rises
        else "reproduced"
        if (changes > 0).all()
        else "reproduced on average",
    )


def _shortcut(everything: pd.DataFrame, first_layer: pd.DataFrame) -> Claim:
    parts, falls, highest = [], [], []
    for label, rows in (("all parameters", everything), ("the first layer's weights", first_layer)):
        kept = in_all_networks(rows[rows["mask"] == "and_mask"], "shortcut_correlation")
        changes = kept.iloc[:, -1] - kept.iloc[:, 0]
        lower = int((changes < 0).sum())
        parts.append(
            f"For {label} the median correlation with the shortcuts' gradient is {_ends(kept)}. It is lower "
            f"at the second threshold in {lower} of n = {len(kept)} networks."
        )
        highest.append(_highest(kept))
        falls.append(changes.median() < 0 and lower >= 0.9 * len(kept))
    overall, first = falls
    return Claim(
        short="The AND-mask suppresses the shortcuts' part",
        claim="The AND-mask suppresses the shortcuts' part in the average gradient (figure 7).",
        paper="The AND-mask suppresses most of it. At a threshold near 1 the mechanism's signal is left "
        "(paper and thesis).",
        ours=" ".join(parts),
        number=f"correlation {highest[0]}",
        verdict="reproduced"
        if overall and first
        else "partly: only in the first layer"
        if first
        else "not reproduced",
    )


def _ends(kept: pd.DataFrame) -> str:
    """Return the medians at the lowest and highest threshold with enough kept components, in words.

    Every network must have enough kept components there.
    """
    low, high = kept.columns[0], kept.columns[-1]
    return f"{kept[low].median():.2f} at threshold {low:g} and {kept[high].median():.2f} at {high:g}"


def _highest(kept: pd.DataFrame) -> str:
    """Return only the second half of ``_ends``: the median at the highest threshold."""
    high = kept.columns[-1]
    return f"{kept[high].median():.2f} at threshold {high:g}"
