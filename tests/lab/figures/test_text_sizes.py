"""Text in figures is legible where a page shows them, and stays inside the picture."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.text import Text

from lab.figures.discovery import figure_modules
from lab.figures.style import PAGE, SMALLEST, new_figure, pixels_on_page, stamp

RESULTS = Path(__file__).parents[3] / "results"
DRAWN = sorted(path.stem for path in RESULTS.glob("*/figures/*.png"))


def test_a_wide_figure_shrinks_to_the_page_and_a_narrow_one_stays() -> None:
    wide, narrow = (new_figure(width=2 * PAGE / 150), new_figure(width=0.5 * PAGE / 150))
    assert pixels_on_page(wide, 10) == pytest.approx(10 * 150 / 72 / 2)
    assert pixels_on_page(narrow, 10) == pytest.approx(10 * 150 / 72)


def test_the_words_under_a_figure_are_broken_and_large_enough() -> None:
    figure = new_figure(width=12)
    stamp(figure, f"{'several words ' * 40}\nanother line")
    (words,) = (text for text in figure.findobj(Text) if text.get_text())
    assert pixels_on_page(figure, words.get_fontsize()) == pytest.approx(SMALLEST)
    assert words.get_text().endswith("\nanother line")
    figure.draw_without_rendering()
    box = words.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_text_is_large_enough_and_inside(name: str, root: Path) -> None:
    figure = import_module(figure_modules()[name]).draw(root / "results")
    figure.draw_without_rendering()
    words = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert words
    small = {
        text.get_text() for text in words if pixels_on_page(figure, text.get_fontsize()) < SMALLEST - 0.01
    }
    assert not small
    below = figure._supxlabel  # type: ignore[attr-defined]
    if below is not None:
        box = below.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1, below.get_text()
