"""The picture of a run's curves, ``curves.png`` in its folder."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lab.files.atomic import write_atomically
from lab.runs.one_run.run_files import is_done, read_config, read_metrics, read_summary

PICTURE = "curves.png"
PANELS = ("accuracy", "loss")
"""The measures that get one panel each, with a line for every split and part."""
STYLES = ("-", "--", "-.", ":")
MOST_LINES = 8


def draw_curves(folder: Path) -> Path | None:
    """Draw accuracies and losses over the epochs of a run that is done; return the picture's path.

    Returns None if there is nothing to draw (a single evaluation, no such measure, matplotlib is not
    installed), or if the picture exists already.
    """
    path = folder / PICTURE
    if path.exists() or not is_done(folder) or find_spec("matplotlib") is None:
        return None
    evaluations = read_metrics(folder)
    lines = {name: _keys(evaluations, name) for name in PANELS}
    panels = {name: keys for name, keys in lines.items() if keys}
    if len(evaluations) < 2 or not panels:  # One evaluation gives a point and not a curve.
        return None
    content = _picture(evaluations, panels, _about(folder))
    write_atomically(path, lambda file: file.write(content))
    return path


def _keys(evaluations: Sequence[Mapping[str, Any]], measure: str) -> list[str]:
    """Return the names of the metrics of this measure, for every split and part."""
    found = [key for key in evaluations[-1] if key.partition("/")[2].partition("_")[0] == measure]
    return found[:MOST_LINES]


def _about(folder: Path) -> str:
    config, summary = read_config(folder), read_summary(folder)
    return f"{config['name']}, seed {config['seed']}; data: {summary.get('data_source', 'unknown')}"


def _picture(evaluations: Sequence[Mapping[str, Any]], panels: Mapping[str, list[str]], about: str) -> bytes:
    # This import is slow, and only a run that has ended needs it.
    from lab.figures.style import as_percent, new_figure, stamp

    figure = new_figure(n_columns=len(panels))
    for axes, (measure, keys) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for i, key in enumerate(keys):
            points = [(values["epoch"], values[key]) for values in evaluations if key in values]
            axes.plot(*zip(*points, strict=True), STYLES[i % len(STYLES)], label=key)
        axes.set_xlabel("epoch")
        axes.set_ylabel(measure)
        axes.legend(fontsize=9)
        if measure == "accuracy":
            as_percent(axes)
    stamp(figure, about)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()
