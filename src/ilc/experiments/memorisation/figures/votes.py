"""How alike the two definitions of a vote are, over training: kept share, overlap, cosine."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import FOLDER, LABEL_KINDS
from ilc.figures.style import new_figure, stamp

COLORS = {0.1: "#E69F00", 0.2: "#0072B2", 0.4: "#009E73"}
MARKERS = {0.1: "o", 0.2: "s", 0.4: "^"}


def draw(results: Path) -> Figure:
    """A row per kind of label, a column per measure, a colour per threshold."""
    votes = pd.read_csv(results / FOLDER / "votes.csv")
    figure = new_figure(n_columns=3, n_rows=2, width=3.3, height=2.5)
    panels = figure.subplots(2, 3, sharex=True)
    for row, (noise, kind) in zip(panels, LABEL_KINDS.items(), strict=True):
        for threshold, color in COLORS.items():
            chosen = votes[(votes.label_noise == noise) & (votes.threshold == threshold)]
            marked = {"color": color, "marker": MARKERS[threshold], "ms": 3, "lw": 1.2}
            label = f"threshold {threshold:g}"
            row[0].plot(chosen.step, chosen.kept_share_loss, label=f"{label}, loss", **marked)
            row[0].plot(
                chosen.step, chosen.kept_share_share, ls=":", mfc="white", label=f"{label}, share", **marked
            )
            row[1].plot(chosen.step, chosen.overlap, label=label, **marked)
            row[2].plot(chosen.step, chosen.cosine, label=label, **marked)
        row[0].set_ylabel(kind)
        for axes in row:
            axes.set_ylim(-0.03, 1.03)
    for axes, title in zip(
        panels[0], ("kept share", "overlap of the masks", "cosine of the masked gradients"), strict=True
    ):
        axes.set_title(title, fontsize=10)
    for axes in panels[1]:
        axes.set_xlabel("step of training")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    first = votes.iloc[0]
    text = (
        "one seed; loss: gradient of the example's loss, share: its part of the batch's gradient; "
        f"FastResNet of width {first.width}, BatchNorm, batch 80;\ndata: {first.data_source}"
    )
    stamp(figure, text)
    return figure
