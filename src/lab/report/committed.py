"""The repository's own figures, as pictures in the page."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from lab.figures.discovery import figure_modules, home_of
from lab.figures.gallery import sentence_of
from lab.files.atomic import in_memory

WIDTH = 1100
"""The largest width of a figure in pixels; a wider one is made smaller."""

QUALITY = 60
"""The WebP quality of the pictures.

They have a quarter of the size of the PNG files, without a visible difference in lines and letters.
"""


@dataclass(frozen=True)
class ShownFigure:
    """A figure as the page shows it. ``source`` holds the picture itself; the size is in pixels."""

    name: str
    sentence: str
    source: str
    width: int
    height: int


def committed_figures(results: Path) -> list[ShownFigure]:
    """Return all committed figures that some module draws, in the experiments' order."""
    found = figure_modules().items()
    paths = [results / home_of(module) / "figures" / f"{name}.png" for name, module in found]
    return [_shown(path) for path in paths if path.exists()]


def _shown(path: Path) -> ShownFigure:
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    content = in_memory(lambda file: image.save(file, format="WEBP", quality=QUALITY, method=4))
    source = f"data:image/webp;base64,{base64.b64encode(content).decode()}"
    return ShownFigure(path.stem, sentence_of(path.stem), source, image.width, image.height)
