"""Colored MNIST: train and test accuracy of five methods during training, and the ideal of 75 %."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.irm.results import PUBLISHED, ROW_COLORS, ROW_LABELS, ROWS, colored_runs, pending
from lab.experiments.irm.selection import LOOKS_AT, selected
from lab.figures.pending import pending_figure
from lab.figures.style import GREY, as_percent, data_sources, median_and_range, new_figure, stamp

IDEAL = 0.75
NAME = "colored"
STYLES = {"and_mask": "--", "geometric_mean": ":"}


def draw(results: Path) -> Figure:
    """Draw train and test accuracy during training: thin lines are seeds, thick lines are their medians."""
    curves = colored_runs(results, "curves")
    if curves.empty:
        return pending_figure(pending(results, NAME))
    figure = new_figure(n_columns=2)
    panels = figure.subplots(1, 2, sharey=True)
    titles = (("train/accuracy", "training environments"), ("test/accuracy", "test environment"))
    for axes, (key, title) in zip(panels, titles, strict=True):
        for name in (name for name in ROWS if name in set(curves.row)):
            seeds = curves[curves.row == name].pivot(index="step", columns="seed", values=key)
            axes.plot(seeds.index, seeds, color=ROW_COLORS[name], lw=0.4, alpha=0.35)
            style = STYLES.get(name, "-")
            axes.plot(
                seeds.index, seeds.median(axis=1), style, color=ROW_COLORS[name], lw=2, label=ROW_LABELS[name]
            )
        axes.axhline(IDEAL, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("optimizer step")
        as_percent(axes)
    panels[0].set_ylabel("accuracy")
    panels[1].text(0, IDEAL + 0.01, "ideal 75 %", fontsize=8, color=GREY, va="bottom")
    panels[0].legend(fontsize=8, loc="lower right")
    n = curves.groupby("row").seed.nunique().min()
    about = f"thick: median of n = {n} seeds, thin: each seed; scale=small, 5,000 images per environment"
    sources = "; ".join(filter(None, [data_sources(colored_runs(results)), pending(results, NAME)]))
    stamp(figure, f"{about};\ndata: {sources}")
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method and selection rule: median and range over seeds, and the published values."""
    curves = colored_runs(results, "curves")
    if curves.empty:
        return pd.DataFrame([{"pending": pending(results, NAME)}])
    rows = []
    for name in (name for name in (*ROWS, "grayscale_and_mask") if name in set(curves.row)):
        seeds = [seed.sort_values("step") for _, seed in curves[curves.row == name].groupby("seed")]
        for rule, looks_at in LOOKS_AT.items():
            chosen = pd.DataFrame([selected(seed, rule) for seed in seeds])
            published = ""
            if rule == "last" and name in PUBLISHED:
                published = " / ".join(f"{100 * accuracy:.1f}" for accuracy in PUBLISHED[name])
            rows.append(
                {
                    "method": ROW_LABELS[name],
                    "selection": rule,
                    "looks at": looks_at,
                    "train %": median_and_range(chosen["train/accuracy"]),
                    "validation %": median_and_range(chosen["validation/accuracy"]),
                    "test %": median_and_range(chosen["test/accuracy"]),
                    "n": str(len(chosen)),
                    "Colored MNIST, published": published,
                }
            )
    ideal = ["ideal", "", "", "75", "75", "75", "", "75 / 75"]
    rows.append(dict(zip(rows[0], ideal, strict=True)))
    return pd.DataFrame(rows)
