"""The page holds everything it needs, nothing out of a run folder as code, and is small."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from plotly.offline import get_plotlyjs

from lab.figures.discovery import figure_modules
from lab.report.committed import ShownFigure, committed_figures
from lab.report.page import SCRIPTS, TEMPLATES, render
from lab.report.run_record import Record

NASTY = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--",
    "&lt;b&gt;",
    "\u2028'\"`${1}{{ 2 }}",
)


@pytest.fixture(scope="module")
def figures(root: Path) -> list[ShownFigure]:
    return committed_figures(root / "results")


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    found: dict[str, Any] = json.loads(text)
    return found


def test_every_template_is_in_the_page() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.js")} == set(SCRIPTS)


@pytest.mark.parametrize("text", NASTY)
def test_text_out_of_run_folders_stays_text(text: str) -> None:
    plain = render([], {}, [], "")
    record = Record(text, "failed", text, text, {text: text}, {text: 1.0}, {text: [1.0]}, text)
    page = render([record], {}, [], text)
    for sign in ("<script", "</script", "<!--"):
        assert page.count(sign) == plain.count(sign)
    (run,) = data_of(page)["runs"]
    assert run["folder"] == run["message"] == run["keys"][text] == text


def test_nothing_is_loaded_and_only_the_two_scripts_may_run() -> None:
    page = render([], {}, [], "").replace(get_plotlyjs(), "")
    assert not re.findall(
        r"""(?:src|href)=["']?(?:https?:|//)|url\(|@import|\bfetch\(|XMLHttpRequest""", page
    )
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0]
    assert policy.startswith("default-src 'none'; ")
    assert len(re.findall(r"'sha256-[\w+/]{43}='", policy.split("script-src")[1])) == 2


@pytest.mark.slow
def test_a_hundred_runs_of_a_hundred_evaluations_with_all_figures_are_below_5_mb(
    hundred: list[Record], figures: list[ShownFigure]
) -> None:
    page = render(hundred, {}, figures, "")
    assert len(page.encode()) - len(get_plotlyjs().encode()) < 5e6
    shown = data_of(page)["runs"]
    assert len(shown) == 100 and all(len(run["curves"]["test/loss"]) == 100 for run in shown)


def test_every_figure_is_shown_with_what_it_shows(root: Path, figures: list[ShownFigure]) -> None:
    drawn = {path.stem for path in (root / "results").glob("*/figures/*.png")}
    assert {figure.name for figure in figures} == drawn <= figure_modules().keys()
    assert all(figure.sentence.endswith((".", "?")) and figure.width <= 1100 for figure in figures)
