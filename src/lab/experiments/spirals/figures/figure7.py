"""Figure 7 in the paper's form: the average gradient and the gradient of each signal, by component."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.spirals.correlations import SCATTER, SETUP, SIGNALS, TABLE
from lab.figures.style import new_figure, stamp

MARKERS = {"mechanism": "o", "shortcut": "^"}
DASHES = {"mechanism": "-", "shortcut": "--"}


def draw(results: Path) -> Figure:
    """Draw the gradients' components, with a regression line per signal and network.

    The left panel has all components, the right panel those that the AND-mask keeps.
    """
    rows, scatter = pd.read_csv(results / TABLE), pd.read_csv(results / SCATTER)
    rows = rows[(rows.parameters == "all") & (rows["mask"] == "and_mask")]
    thresholds = sorted(scatter.agreement_threshold.unique())
    figure = new_figure(n_columns=len(thresholds), width=4.4, height=4.0)
    panels = figure.subplots(1, len(thresholds))
    for axes, threshold in zip(panels, thresholds, strict=True):
        lines = rows[rows.agreement_threshold == threshold]
        _panel(axes, scatter[scatter.agreement_threshold == threshold], lines)
        kept = f"AND-mask, threshold {threshold:g}: {lines.kept_share.mean():.2%} kept"
        axes.set_title(kept if threshold else "no mask (threshold 0)", fontsize=10)
        axes.set_xlabel("component of the average gradient / 0.001")
    panels[0].set_ylabel("same component, one signal alone / 0.001")
    sampled = " and ".join(f"{(scatter.agreement_threshold == t).sum():,}" for t in thresholds)
    stamp(
        figure,
        f"n = {rows.seed.nunique()} networks, every least-squares line drawn (r: their mean, no interval), "
        f"fitted to all kept components;\ndots: {sampled} of these, at most 200 per network; "
        "axes cut to the sample's central 98 %;\n"
        f"{SETUP}; data: {', '.join(rows.data_source.unique())}",
    )
    return figure


def _panel(axes: Axes, sample: pd.DataFrame, lines: pd.DataFrame) -> None:
    limit = 1000 * float(sample.average.abs().quantile(0.98))
    ends = np.array([-limit, limit])
    # A few components are so large that they would squeeze all others into one spot. They are left out.
    height = 1000 * float(np.quantile(sample[list(SIGNALS)].abs(), 0.99))
    for name, color in SIGNALS.items():
        axes.plot(
            1000 * sample.average, 1000 * sample[name], MARKERS[name], color=color, ms=2.5, mew=0, alpha=0.3
        )
        for line in lines.itertuples():
            slope, intercept = getattr(line, f"{name}_slope"), getattr(line, f"{name}_intercept")
            axes.plot(ends, slope * ends + 1000 * intercept, color="white", lw=2.2)
            axes.plot(ends, slope * ends + 1000 * intercept, DASHES[name], color=color, lw=1.2)
        correlation = lines[f"{name}_correlation"].mean()
        label = f"{name} alone, r = {correlation:.2f}"
        axes.plot([], [], DASHES[name], marker=MARKERS[name], ms=4, color=color, label=label)
    axes.set(xlim=(-limit, limit), ylim=(-height, height))
    axes.legend(loc="upper left", fontsize=8.5)
