"""The page itself: records, claims and figures, put into the templates."""

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
"""The files of the script of the page. A later file uses the earlier ones."""


def render(
    records: Sequence[Record],
    claims: dict[str, list[Claim]],
    figures: Sequence[ShownFigure],
    made: str,
) -> str:
    """Return the page as text.

    Values from run folders stand in one block of JSON, and no value can close this block. The page shows
    them only as text. The page loads nothing from elsewhere. It runs only the two scripts whose hashes it
    names: its own one at once, and the plotting library after the table is shown.

    Args:
        records: the runs.
        claims: the claims of every experiment, by its title.
        figures: the committed figures.
        made: when the page was made and from which folders, in words.
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
