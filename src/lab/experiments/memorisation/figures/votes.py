"""How similar the local and the share vote are to the exact vote during training, by three measures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import LABEL_KINDS
from lab.experiments.memorisation.results import FOLDER
from lab.figures.pending import pending_figure
from lab.figures.style import new_figure, stamp

COLORS = {0.1: "#E69F00", 0.2: "#0072B2", 0.4: "#009E73"}
STYLES = {"exact": ("-", "o"), "local": ("--", "s"), "share": (":", "^")}
COLUMNS = (
    ("kept_share", "kept share"),
    ("overlap", "overlap with the exact mask"),
    ("cosine", "cosine of the masked gradients"),
)


def draw(results: Path) -> Figure:
    """Draw a row per kind of label and a column per measure.

    The colour shows the threshold, the line style shows the vote.
    """
    path = results / FOLDER / "votes.csv"
    if not path.exists():
        return pending_figure("the study votes")
    votes = pd.read_csv(path)
    figure = new_figure(n_columns=3, n_rows=2, width=3.3, height=2.5)
    panels = figure.subplots(2, 3, sharex=True)
    for row, (noise, kind) in zip(panels, LABEL_KINDS.items(), strict=True):
        for threshold, color in COLORS.items():
            chosen = votes[(votes.label_noise == noise) & (votes.threshold == threshold)]
            for axes, (measure, _) in zip(row, COLUMNS, strict=True):
                for vote, (style, marker) in STYLES.items():
                    if f"{measure}_{vote}" in chosen:
                        drawn = {"color": color, "ls": style, "marker": marker, "ms": 3, "lw": 1.2}
                        values = chosen[f"{measure}_{vote}"]
                        axes.plot(chosen.step, values, label=f"{threshold:g}, {vote}", mfc="white", **drawn)
        row[0].set_ylabel(kind)
        for axes in row:
            axes.set_ylim(-0.03, 1.03)
    for axes, (_, title) in zip(panels[0], COLUMNS, strict=True):
        axes.set_title(title, fontsize=10)
    for axes in panels[1]:
        axes.set_xlabel("step of training")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, title="threshold, vote", loc="outside upper center", ncols=3, fontsize=8)
    first = votes.iloc[0]
    text = (
        "one seed; exact: gradient of the example's own risk, local: the same with batch statistics "
        "followed one layer,\nshare: the example's part of the batch gradient; "
        f"FastResNet of width {first.width}, BatchNorm, batch 80, trained with the local vote at 0.2;\n"
        f"data: {first.data_source}, {first.image_size} x {first.image_size} pixels"
    )
    stamp(figure, text)
    return figure
