"""Figure 8 over the epochs by vote: exact, which is the authors', local, and share of the batch gradient."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import (
    FOLDER,
    NOISE,
    THRESHOLD,
    about,
    draw_seeds,
    mark_rate_falls,
    seeds_per,
    threshold_curves,
)
from ilc.figures.style import GREY, as_percent, new_figure, stamp

VOTES = {
    "per_example_loss": "exact (the authors')",
    "per_example": "local",
    "per_example_share": "share of the batch gradient",
}
PANELS = (
    (1.0, "train/accuracy", "random labels,\ntraining set"),
    (0.0, "test/accuracy", "true labels,\ntest set"),
)
COLORS = {0.0: GREY, 0.1: "#E69F00", 0.2: "#0072B2", 0.4: "#009E73"}
STYLES = {0.0: ":", 0.1: "-.", 0.2: "-", 0.4: "--"}


def draw(results: Path) -> Figure:
    """A column per vote, a row per kind of label, a line per threshold."""
    local, others = threshold_curves(results), pd.read_csv(results / FOLDER / "other_votes_curves.csv")
    plain = local[local[THRESHOLD] == 0]
    masked = pd.concat([local[local[THRESHOLD] > 0], others])
    figure = new_figure(n_columns=3, n_rows=2, width=3.0, height=2.4)
    for panels, (noise, key, title) in zip(
        figure.subplots(2, 3, sharex=True, sharey=True), PANELS, strict=True
    ):
        for axes, (gradients, vote) in zip(panels, VOTES.items(), strict=True):
            of_vote = pd.concat([plain, masked[masked.gradients == gradients]])
            for threshold, color in COLORS.items():
                chosen = of_vote[(of_vote[NOISE] == noise) & (of_vote[THRESHOLD] == threshold)]
                label = f"{threshold:g}" if threshold else "0 (plain training)"
                draw_seeds(axes, chosen, key, color, STYLES[threshold], label)
            mark_rate_falls(axes)
            as_percent(axes)
            if noise:
                axes.set_title(vote, fontsize=10)
        panels[0].set_ylabel(f"accuracy, {title}", fontsize=9)
    for axes in panels:
        axes.set_xlabel("epoch")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, title="agreement threshold", loc="outside upper center", ncols=4, fontsize=8
    )
    n = ", ".join(
        f"{vote.partition(' ')[0]} {seeds_per(masked[masked.gradients == gradients], [THRESHOLD, NOISE])}"
        for gradients, vote in VOTES.items()
    )
    runs = pd.read_csv(results / FOLDER / "other_votes_runs.csv")
    stamp(figure, about(runs, f"thick: median, thin: each seed, {n}", votes="each column's votes"))
    return figure
