"""The panels over the epochs show the lines that have runs, and every vote gets the line of its name."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import Line, Panel, draw_panels
from lab.experiments.memorisation.figures import figure8_other_votes
from lab.experiments.memorisation.results import FOLDER, NOISE, THRESHOLD

PANELS = (
    Panel(1.0, "train/accuracy", "random labels"),
    Panel(0.0, "test/accuracy", "true labels"),
)


def evaluations(kinds: tuple[float, ...], seeds: int = 1, **settings: object) -> pd.DataFrame:
    """Three evaluations of each seed and kind of label. Seed s fits 10 (s + 1) % in training."""
    rows = [
        {NOISE: noise, "seed": seed, "epoch": epoch, "train/accuracy": 0.1 * (seed + 1), "test/accuracy": 0.5}
        for noise, seed, epoch in product(kinds, range(seeds), (4, 8, 12))
    ]
    return pd.DataFrame(rows).assign(**settings)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_legend_names_the_lines_that_have_runs_in_any_panel() -> None:
    both, none = evaluations((0.0, 1.0)), evaluations((0.25,))
    second = evaluations((0.0,))
    lines = [
        Line(name, "black", "-", curves)
        for name, curves in (("second", second), ("none", none), ("both", both))
    ]
    figure = draw_panels(PANELS, lines, width=3.0)
    assert legend(figure) == ["second", "both"]
    dotted = 1
    assert [len(axes.lines) - dotted for axes in figure.axes] == [1, 2]


def test_the_thick_line_is_the_median_of_the_seeds() -> None:
    figure = draw_panels(PANELS[:1] * 2, [Line("line", "black", "-", evaluations((1.0,), 3))], width=3.0)
    *thin, thick, _ = figure.axes[0].lines
    assert len(thin) == 3
    assert list(thick.get_ydata()) == pytest.approx([0.2] * 3)
    assert thick.get_linewidth() > max(line.get_linewidth() for line in thin)


def test_the_learning_rate_falls_after_half_and_three_quarters_of_the_epochs() -> None:
    curves = evaluations((0.0, 1.0))
    lines = [Line("none", "black", "-", curves[:0]), Line("line", "black", "-", curves)]
    with_falls = draw_panels(PANELS, lines, width=3.0, rate_falls=True)
    assert [line.get_xdata()[0] for line in with_falls.axes[0].lines[1:3]] == [6.0, 9.0]
    assert len(draw_panels(PANELS, lines, width=3.0).axes[0].lines) == 2


def test_every_vote_gets_the_line_of_its_name(tmp_path: Path) -> None:
    votes = {
        "plain training": ("and_mask", 0.0, True, "per_example"),
        "exact vote (the authors')": ("and_mask", 0.2, True, "per_example_loss"),
        "local vote": ("and_mask", 0.2, True, "per_example"),
        "local vote, not rescaled": ("and_mask", 0.2, False, "per_example"),
    }
    curves = pd.concat(
        evaluations((1.0,)).assign(
            **{
                "aggregator": aggregator,
                THRESHOLD: threshold,
                "aggregator.rescale": rescale,
                "gradients": gradients,
                "train/accuracy": place / 10,
            }
        )
        for place, (aggregator, threshold, rescale, gradients) in enumerate(votes.values())
    )
    folder = tmp_path / FOLDER
    folder.mkdir()
    curves.to_csv(folder / "other_votes_curves.csv", index=False)
    of_network = {"model.norm": "batch", "model.width": 8, "data_source": "images"}
    runs = curves[curves.epoch == 12].assign(
        stopped="completed", **of_network, **{"dataset.n_environments": 9600}
    )
    runs.to_csv(folder / "other_votes_runs.csv", index=False)
    figure = figure8_other_votes.draw(tmp_path)
    assert legend(figure) == list(votes)
    heights = [line.get_ydata()[0] for line in figure.axes[0].lines[:-1]]
    assert heights == pytest.approx([0.0, 0.1, 0.2, 0.3])
    table = figure8_other_votes.tabulate(tmp_path).set_index("training")
    ends = [f"{x:.1f}" for x in (0.0, 10.0, 20.0, 30.0)]
    assert table["random labels, training set"].to_dict() == dict(zip(votes, ends, strict=True))
    assert set(table["true labels, test set"]) == {"pending"}
