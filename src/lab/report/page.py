"""The page itself: records, claims and figures, put into the templates with all that they need."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from lab.figures.claims import Claim
from lab.figures.style import COLORS, LABELS
from lab.report.committed import ShownFigure
from lab.report.run_record import Record
from lab.report.thinning import thinned

TEMPLATES = Path(__file__).parent / "templates"

SCRIPTS = ("data", "groups", "filter", "table", "plots", "curves", "sweep", "searches", "failures", "page")
"""The parts of the page's own script, in the order in which they build on each other."""


def render(
    records: Sequence[Record],
    claims: dict[str, list[Claim]],
    figures: Sequence[ShownFigure],
    made: str,
) -> str:
    """The page as text.

    Values out of run folders reach it in one block of JSON, in which nothing can close the block, and from
    there as text alone. The page loads nothing, and runs no script but the two whose hashes it names: its own
    at once, the plotting library after the table has been painted.

    Args:
        records: the runs.
        claims: of every experiment by its title.
        figures: committed ones.
        made: when and from which folders, in words.
    """
    shown, n_thinned = thinned(records)
    own = "".join((TEMPLATES / f"{name}.js").read_text() for name in SCRIPTS)
    library = get_plotlyjs()
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("report.html").render(
        data=_data(shown, n_thinned, made),
        claims=claims,
        figures=figures,
        made=made,
        style=(TEMPLATES / "report.css").read_text(),
        own=own,
        library=library,
        hashes=" ".join(f"'sha256-{_digest(script)}'" for script in (own, library)),
    )


def _data(records: Sequence[Record], n_thinned: int, made: str) -> dict[str, Any]:
    return {
        "made": made,
        "n_thinned": n_thinned,
        "colors": COLORS,
        "labels": LABELS,
        "runs": [asdict(record) for record in records],
    }


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
