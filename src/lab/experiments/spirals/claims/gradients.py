"""The claims about the gradients of untrained networks, judged at every setting."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd

from lab.experiments.spirals.correlations import (
    MIN_COMPONENTS,
    TABLE,
    in_all_networks,
    read_correlations,
)
from lab.experiments.spirals.settings import (
    AUTHORS,
    CORRELATIONS_OF_AUTHORS,
    CORRELATIONS_OF_THREE,
    LEFT_OPEN,
    SETTINGS,
    THREE,
    TWO,
    Setting,
)
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.mean_interval import mean_interval
from lab.figures.verdicts import FEWEST, at_settings

THESIS_MECHANISM = 0.4
TABLES = {AUTHORS: CORRELATIONS_OF_AUTHORS, TWO: TABLE, THREE: CORRELATIONS_OF_THREE}
Rows = dict[Setting, pd.DataFrame]


def claims(results: Path) -> list[Claim]:
    """Return the claims on the unmasked gradient and on what the masks do to the mechanism's part."""
    rows = {setting: rows_at(results, setting) for setting in SETTINGS}
    everything = {setting: table[table.parameters == "all"] for setting, table in rows.items()}
    return [_unmasked(everything), _mechanism(everything)]


def rows_at(results: Path, setting: Setting) -> pd.DataFrame:
    """Return the correlations at one setting, of masks that keep enough components."""
    return read_correlations(results, TABLES[setting])


def _unmasked(rows: Rows) -> Claim:
    """Return the claim on the signals in the plain average gradient, which is the one at threshold 0."""
    verdicts, lines, numbers = {}, [], []
    for setting, table in rows.items():
        plain = table[(table["mask"] == "and_mask") & (table.agreement_threshold == 0)]
        mechanism, shortcut = plain.mechanism_correlation, plain.shortcut_correlation
        interval, larger = mean_interval(mechanism), int((shortcut > mechanism).sum())
        verdicts[setting.words] = unmasked_rule(larger, len(plain), interval)
        numbers.append(f"{mechanism.mean():.2f} {setting.words}")
        lines.append(
            {
                "setting": setting.words,
                "shortcuts, mean": f"{shortcut.mean():.2f}",
                "mechanism, mean": f"{mechanism.mean():.2f}",
                "its 95 % t interval": f"{interval[0]:.2f} to {interval[1]:.2f}",
                "mechanism, range": f"{mechanism.min():.2f} to {mechanism.max():.2f}",
                "shortcuts are larger": f"{larger} of {len(plain)} networks",
            }
        )
    return Claim(
        short="Shortcuts outweigh the mechanism in untrained gradients",
        claim="In networks that are not trained yet, shortcuts outweigh the mechanism in the average "
        "gradient on the spirals (figure 7).",
        paper="The average gradient has a larger correlation with the shortcuts' gradient than with the "
        "mechanism's.",
        thesis=f"The correlation with the mechanism's gradient is about {THESIS_MECHANISM}.",
        ours="The table has the correlations of the average gradient with the shortcuts' gradient and with "
        "the mechanism's. Networks begin with PyTorch's weights where no others are named.",
        table=as_markdown(lines),
        number=f"correlation with the mechanism's gradient: {'; '.join(numbers)}",
        reading=LEFT_OPEN,
        verdict=at_settings(verdicts),
    )


def unmasked_rule(larger: int, n: int, interval: tuple[float, float]) -> str:
    """Return the verdict on the unmasked gradient at one setting.

    Args:
        larger: in how many networks the shortcuts' correlation is the larger one.
        n: the number of networks.
        interval: of the mean correlation with the mechanism's gradient. It should contain the thesis's value.
    """
    low, high = interval
    if n < FEWEST:
        return f"undecided: {n} networks"
    if larger < n:
        return f"in part: in {larger} of {n} networks" if larger > n / 2 else "not reproduced"
    return "reproduced" if low <= THESIS_MECHANISM <= high else "in part: at another value"


def _mechanism(rows: Rows) -> Claim:
    verdicts, lines, numbers = {}, [], []
    for setting, table in rows.items():
        kept, dropped = (
            in_all_networks(table[table["mask"] == mask], "mechanism_correlation")
            for mask in ("and_mask", "xor_mask")
        )
        changes = kept.iloc[:, -1] - kept.iloc[:, 0]
        rising, n = int((changes > 0).sum()), len(kept)
        verdicts[setting.words] = mechanism_rule(
            [float(median) for median in kept.median()], float(dropped.iloc[:, 0].median()), rising, n
        )
        numbers.append(f"{kept.iloc[:, -1].median():.2f} at {kept.columns[-1]:g} {setting.words}")
        lines.append(
            {
                "setting": setting.words,
                **ends(kept, "AND-mask"),
                "higher at the highest": f"{rising} of {n} networks",
                "XOR-mask, lowest threshold": at_threshold(dropped, 0),
            }
        )
    return Claim(
        short="The AND-mask raises the mechanism's part",
        claim="The AND-mask raises the mechanism's part in the average gradient, and the XOR-mask lowers it "
        "(figure 7).",
        paper="The text says that the AND-mask suppresses most of the shortcuts' gradients. Its figure has "
        "one threshold, at which we read a larger correlation with the mechanism's.",
        thesis="A higher threshold of the AND-mask suppresses the shortcuts' gradients, and close to 1 most "
        "of what is left has the mechanism's signal. The XOR-mask brings a sharper decrease of the "
        "correlation with the mechanism's gradient. That the AND-mask raises this correlation is our reading "
        "of figure 3.7.",
        ours="The table has median correlations with the mechanism's gradient, each with its threshold. "
        "They are at the lowest and the highest threshold of the AND-mask, and at the lowest one of the "
        f"XOR-mask, at which each network keeps at least {MIN_COMPONENTS} components.",
        table=as_markdown(lines),
        number=f"correlation {'; '.join(numbers)}",
        reading=LEFT_OPEN,
        verdict=at_settings(verdicts),
    )


def mechanism_rule(medians: list[float], xor: float, rising: int, n: int) -> str:
    """Return the verdict on the mechanism's part at one setting.

    Args:
        medians: the median correlation at each threshold of the AND-mask, in increasing order of thresholds.
        xor: the median correlation with the XOR-mask that keeps the least.
        rising: in how many networks the last threshold has a larger correlation than the first.
        n: the number of networks.
    """
    if n < FEWEST:
        return f"undecided: {n} networks"
    steady = all(a <= b for a, b in pairwise(medians))
    rises, below = medians[-1] > medians[0], xor < medians[0]
    if not rises:
        return "not reproduced"
    if not (steady and below and rising == n):
        return "in part: " + (
            f"in {rising} of {n} networks"
            if steady and below
            else "not at each threshold"
            if below
            else "not the XOR-mask"
        )
    return "reproduced"


def ends(kept: pd.DataFrame, label: str) -> dict[str, str]:
    """Return the cells of a table with the medians at the lowest and the highest threshold.

    Every network must have enough kept components there.
    """
    return {
        f"{label}, lowest threshold": at_threshold(kept, 0),
        f"{label}, highest threshold": at_threshold(kept, -1),
    }


def at_threshold(kept: pd.DataFrame, place: int) -> str:
    """Return the median in one column, with the threshold of this column."""
    return f"{kept.iloc[:, place].median():.2f} at {kept.columns[place]:g}"


def highest_median(kept: pd.DataFrame) -> tuple[float, float]:
    """Return the threshold with the largest median, and this median."""
    medians = [float(kept[threshold].median()) for threshold in kept.columns]
    return float(kept.columns[medians.index(max(medians))]), max(medians)
