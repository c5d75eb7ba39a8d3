"""The common style of all figures: colours for colour-blind readers, and a line that names the source."""

from __future__ import annotations

import textwrap
from typing import Any
from zlib import crc32

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FURTHER_COLORS = ("#661100", "#117733", "#6699CC", "#AA4499", "#44AA99", "#888888")
"""Colours of Tol's palette, for methods that have no colour of their own."""


class _Colors(dict[str, str]):
    """Colours by name. A name that is missing always gets the same one of ``FURTHER_COLORS``."""

    def __missing__(self, name: str) -> str:
        return FURTHER_COLORS[crc32(name.encode()) % len(FURTHER_COLORS)]


class _Labels(dict[str, str]):
    """Labels by name. A name that is missing is its own label, with spaces between the words."""

    def __missing__(self, name: str) -> str:
        return name.replace("_", " ")


# Okabe and Ito's palette, whose colours are distinct under every common colour blindness. An aggregator has
# the same colour everywhere, and a marker too, so that grey prints stay readable.
COLORS = _Colors(
    {
        "mean": "#D55E00",
        "and_mask": "#0072B2",
        "xor_mask": "#CC79A7",
        "geometric_mean": "#009E73",
        "temporal_mask": "#56B4E9",
        "irm_penalty": "#E69F00",
        "dann": "#332288",  # Tol's indigo, because no colour of Okabe and Ito is left
        "micro_batch_median": "#999933",  # Tol's olive
        "gradient_agreement": "#882255",  # Tol's wine
    }
)
LABELS = _Labels(
    {
        "mean": "mean (plain training)",
        "and_mask": "AND-mask",
        "xor_mask": "XOR-mask",
        "geometric_mean": "geometric mean",
        "temporal_mask": "temporal AND-mask",
        "irm_penalty": "IRM",
        "dann": "DANN",
        "micro_batch_median": "median of micro-batches",
        "gradient_agreement": "gradient agreement filtering",
    }
)
GREY = "#666666"

PAGE = 900
"""The width in pixels to which a page shrinks a figure that is wider."""
SMALLEST = 9
"""The smallest height of the font in pixels, at that width."""

_SETTINGS: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "ilc",
}


def new_figure(n_columns: int = 1, n_rows: int = 1, width: float = 4.2, height: float = 3.2) -> Figure:
    """Return an empty figure with space for this number of panels of the given size in inches."""
    # Figure is used and not pyplot, which has global state, may need a display and leaves figures open.
    mpl.rcParams.update(_SETTINGS)
    return Figure(figsize=(width * n_columns, height * n_rows + 0.35), layout="constrained")


def room_for_titles(figure: Figure) -> None:
    """Leave a margin at the top, where panels without axes would let their titles touch the edge."""
    figure.get_layout_engine().set(rect=(0, 0, 1, 0.97))  # type: ignore[union-attr,call-arg]


def as_percent(axes: Axes, lowest: float = 0.0) -> None:
    """Label the y axis, which holds shares from ``lowest`` to 1, in per cent."""
    axes.set_ylim(lowest - 0.02, 1.04)
    axes.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))


def seeds_in_row(axes: Axes, row: float, values: pd.Series, color: str) -> None:
    """Draw a dot per seed along ``row``, and a bar at their median."""
    # The dots are shifted within their row, so that equal values do not hide each other.
    places = row + np.linspace(-0.3, 0.3, len(values))
    axes.plot(values, places, "o", ms=3, color=color, alpha=0.5, mec="none", clip_on=False)
    axes.vlines(values.median(), row - 0.4, row + 0.4, color=color, lw=2.5)


def legend_entries(figure: Figure) -> dict[str, Artist]:
    """Return what all panels label, by label, for one legend of panels that do not all have every label."""
    return {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }


def data_sources(runs: pd.DataFrame) -> str:
    """Return the names of the data sources that these runs recorded, separated by commas.

    A run that diverged recorded none.
    """
    return ", ".join(sorted(runs.data_source.dropna().unique()))


def median_and_range(values: pd.Series) -> str:
    """Return the median and the range of shares in per cent, such as ``91.2 (88.0 to 93.1)``.

    A single value has no range. Missing values do not count.
    """
    median = f"{100 * values.median():.1f}"
    if values.count() == 1:
        return median
    return f"{median} ({100 * values.min():.1f} to {100 * values.max():.1f})"


def pixels_on_page(figure: Figure, points: float) -> float:
    """Return the height in pixels of a font of this size, where a page shows the figure."""
    dots = float(_SETTINGS["savefig.dpi"])
    return points * dots / 72 * min(1.0, PAGE / (figure.get_figwidth() * dots))


def stamp(figure: Figure, text: str) -> None:
    """Write lines under the figure, which explain n and the intervals, the scale and the data.

    The font is small, but not smaller on a page than ``SMALLEST``. Lines that are too long for the figure are
    broken.
    """
    size = 7.5 * max(1.0, SMALLEST / pixels_on_page(figure, 7.5))
    longest = int(figure.get_figwidth() * 72 / (0.53 * size))  # A letter is about half as wide as high.
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, longest)]
    figure.supxlabel("\n".join(lines), fontsize=size, color=GREY)
