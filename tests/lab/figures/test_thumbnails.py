"""The README's thumbnails: small, legible at the size shown, each with its caption and page."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from lab.figures.thumbnails import DPI, FILE, INCHES, caption, table, thumbnail_modules

KB = 60
"""At most, each."""
POINTS = 8
"""At least, of any word, at a hundred pixels an inch."""


def test_each_has_a_page(root: Path) -> None:
    assert thumbnail_modules()
    assert all((root / "docs" / f"{name}.md").is_file() for name in thumbnail_modules())


@pytest.mark.parametrize("name", thumbnail_modules())
def test_a_committed_thumbnail_is_small(name: str, root: Path) -> None:
    path = root / "results" / name / FILE
    assert path.stat().st_size < KB * 1000
    assert imread(path).shape[:2] == (round(INCHES[1] * DPI), round(INCHES[0] * DPI))


@pytest.mark.parametrize("name", thumbnail_modules())
def test_its_words_are_large_enough_and_inside(name: str, root: Path) -> None:
    figure = import_module(thumbnail_modules()[name]).draw(root / "results")
    figure.draw_without_rendering()
    words = [one for one in figure.findobj(Text) if one.get_visible() and one.get_text()]
    inside = figure.bbox.padded(1)
    for one in words:
        assert one.get_fontsize() >= POINTS, one.get_text()
    labels = [one for axes in figure.axes for one in [*axes.texts, axes.title]]
    for one in labels:
        box = one.get_window_extent()
        assert inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1), one.get_text()


def test_captions_are_a_sentence_and_in_the_readme(root: Path) -> None:
    readme = (root / "README.md").read_text()
    captions = [caption(module) for module in thumbnail_modules().values()]
    assert all(re.fullmatch(r"[A-Z].{20,110}[.?]", text) for text in captions)
    assert table() in readme
