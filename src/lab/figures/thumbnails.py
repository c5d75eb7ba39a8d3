"""Thumbnails: the README's small pictures, one for each experiment that has a module for it.

A thumbnail is a module ``lab/experiments/NAME/thumbnail.py`` with ``draw(results) -> Figure``. The first line
of the module's docstring is the caption. The picture becomes ``results/NAME/thumbnail.png`` and links to
``docs/NAME.md``.
"""

from __future__ import annotations

from importlib import import_module

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.figures.claims import title_of
from lab.figures.discovery import FOLDER, PACKAGE, experiments
from lab.figures.style import new_figure

FILE = "thumbnail.png"
"""The name of the picture, in the folder of the experiment's results."""

TABLE = "thumbnails"
"""The name of the README's table."""

COLUMNS = 3
INCHES = (2.6, 1.9)
DPI = 160
"""The resolution, which has three dots for every two pixels at which the README shows the pictures."""


def thumbnail_modules() -> dict[str, str]:
    """Return the modules of all thumbnails, by the name of their experiment."""
    return {
        name: f"{PACKAGE}.{name}.thumbnail"
        for name in experiments()
        if (FOLDER / name / "thumbnail.py").exists()
    }


def new_thumbnail(title: str) -> tuple[Figure, Axes]:
    """Return an empty picture with one panel, whose text is legible at the size shown."""
    figure = new_figure()
    figure.set_size_inches(*INCHES)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
    return figure, axes


def label(axes: Axes, x: float, y: float, text: str, color: str, side: str = "right") -> None:
    """Write a label next to a line, in the line's colour; the label's ``side`` is at x."""
    axes.text(x, y, text, color=color, fontsize=8.5, fontweight="bold", ha=side, va="center")


def caption(module: str) -> str:
    """Return the caption of a thumbnail, which is the first line of its module."""
    return (import_module(module).__doc__ or "").splitlines()[0]


def table() -> str:
    """Return the README's table of pictures and captions as Markdown, with links from the root."""
    cells = [
        f"[![{title_of(name)}](results/{name}/{FILE})](docs/{name}.md)<br>{caption(module)}"
        for name, module in thumbnail_modules().items()
    ]
    rows = [cells[start : start + COLUMNS] for start in range(0, len(cells), COLUMNS)]
    head = ["| " + " | ".join([" "] * COLUMNS) + " |", "|" + ":-:|" * COLUMNS]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
