"""Test accuracy of each LoRA method with turned codes, a dot per seed; a line connects the runs of a seed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.lora_domains.results import FOLDER, ROWS, RUNS, last_accuracies
from lab.figures.style import COLORS, as_percent, data_sources, new_figure, stamp

SPLITS = {"train": "training", "validation": "held-out domain", "test": "test", "no_code": "test, no code"}


def draw(results: Path) -> Figure:
    """Draw the test accuracies, and a line for each seed that connects its runs."""
    runs = pd.read_csv(results / FOLDER / RUNS)
    figure = new_figure(width=7.0)
    axes = figure.subplots()
    for place, name in enumerate(ROWS):
        own = runs[runs.aggregator == name]["test/accuracy"]
        axes.plot([place] * len(own), own, "o", color=COLORS[name], alpha=0.8)
    for _, of_seed in runs.groupby("seed"):
        axes.plot(
            of_seed.set_index("aggregator").loc[list(ROWS), "test/accuracy"].tolist(),
            lw=0.6,
            color="#999999",
            zorder=0,
        )
    as_percent(axes)
    axes.set_xticks(range(len(ROWS)), [label.replace(", ", ",\n") for label in ROWS.values()], fontsize=8)
    axes.tick_params(axis="x", rotation=20)
    axes.set_ylabel("test accuracy, codes turned")
    stamp(
        figure,
        f"n = {runs.seed.nunique()} seeds, every seed drawn; selection: held-out domain; "
        f"data: {data_sources(runs)}",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a line per method: means and standard deviations of accuracies in per cent, settings."""
    runs = pd.read_csv(results / FOLDER / RUNS)
    last = last_accuracies(results)
    lines = []
    for name, label in ROWS.items():
        own = runs[runs.aggregator == name]
        accuracies = {words: _number(own[f"{split}/accuracy"]) for split, words in SPLITS.items()}
        thresholds = own["aggregator.agreement_threshold"].dropna().unique()
        lines.append(
            {
                "method": label,
                **accuracies,
                "test, last step": _number(last[name]),
                "rate": "" if name == "not_fine_tuned" else f"{own['optimizer.lr'].iloc[0]:.3g}",
                "threshold": f"{thresholds[0]:g}" if len(thresholds) else "",
            }
        )
    return pd.DataFrame(lines)


def _number(shares: pd.Series[float]) -> str:
    return f"{100 * shares.mean():.1f} ± {100 * shares.std():.1f}"
