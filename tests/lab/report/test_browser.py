"""The report in a real browser: what a reader does, and what is then on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.offline import get_plotlyjs

from lab.figures.claims import Claim
from lab.report.committed import ShownFigure
from lab.report.page import render
from lab.report.run_folders import find_runs
from lab.report.run_record import Record, read_record

pytestmark = pytest.mark.slow

LOCAL = ("file:", "data:", "blob:")
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
PARTS = (
    "body",
    ".note",
    "td .open",
    ".state.done",
    ".state.failed",
    ".state.stopped",
    ".state.running",
    ".failure p",
)
SECONDS = 2
"""Of processor time, in which the page of a hundred runs opens."""


@pytest.fixture(scope="module")
def report(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report on the runs in every state, with a claim and a figure."""
    claim = Claim("Masks help", "the claim & more", "source", "ours", "1 %", "in part: <b>")
    figure = ShownFigure("demo", "What it shows.", PIXEL, 1, 1)
    records = [read_record(folder) for folder in find_runs([runs])]
    return written(
        tmp_path_factory.mktemp("page"), render(records, {"Spirals": [claim]}, [figure], "Made now")
    )


def written(folder: Path, page: str) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "report.html"
    path.write_text(page)
    return path.as_uri()


@contextmanager
def opened(
    browser: Any, report: str, sign: str = "#sweep .trace", first: str = "", **options: Any
) -> Iterator[Any]:
    """The report without a network, once the sign is there; nothing may complain or be asked for.

    What is to run ``first`` runs before any script of the page.
    """
    with browser.new_context(**options, offline=True) as context:
        page = context.new_page()
        page.add_init_script(first)
        page.set_default_timeout(60_000)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(LOCAL) or complaints.append(asked.url))
        page.goto(report)
        page.wait_for_selector(sign, state="attached")
        yield page
        assert not complaints


@pytest.fixture(scope="module")
def shared(browser: Any, report: str) -> Iterator[Any]:
    with opened(browser, report) as page:
        yield page


@pytest.fixture
def page(shared: Any) -> Any:
    """The open report as it is at first, but for the choices of its plots."""
    shared.click("#tab-runs")
    shared.fill("#filter-text", "")
    while shared.locator("#filters button").count():
        shared.click("#filters button")
    shared.click("#columns-reset")
    shared.select_option("#sort-key", "run")
    return shared


def rows(page: Any, table: str = "#runs") -> list[list[str]]:
    """The words in a table's body."""
    of_row = "row => [...row.cells].map(cell => cell.innerText.trim())"
    script = f"table => [...(table.tBodies[0]?.rows ?? [])].map({of_row})"
    found: list[list[str]] = page.eval_on_selector(table, script)
    return found


def column(page: Any, name: str, table: str = "#runs") -> list[str]:
    heads = [head.strip(" ↑↓") for head in page.locator(f"{table} thead th").all_inner_texts()]
    return [row[heads.index(name)] for row in rows(page, table)]


def test_states_are_counted_and_every_run_is_in_the_table(page: Any) -> None:
    assert page.inner_text("#counts") == "16 runs: 12 done, 1 running, 1 stopped, 1 failed, 1 damaged"
    assert sorted(set(column(page, "state"))) == ["damaged", "done", "failed", "running", "stopped"]
    assert page.title() == "Runs"  # A folder's name is a script that would change it.
    assert "<script>" in " ".join(column(page, "run"))


def test_a_run_without_the_usual_metrics_shows_its_own(
    browser: Any, hundred: list[Record], tmp_path: Path
) -> None:
    other = replace(hundred[1], metrics={"test/error_E0": 7.5, "test/error": 1.5, "epoch": 3.0}, curves={})
    with opened(
        browser, written(tmp_path, render([hundred[0], other], {}, [], "")), "#runs tbody tr"
    ) as page:
        assert column(page, "test/error")[1] == "1.5" and "." not in column(page, "test/error")[0]
        assert not page.locator("#runs thead button:text-is('test/error_E0')").count()


def test_sort_by_a_header_and_by_any_key(page: Any) -> None:
    page.click("#runs thead button:text-is('optimizer.lr')")
    rates = [float(text) for text in column(page, "optimizer.lr")]
    assert rates == sorted(rates) and len(set(rates)) > 3
    page.click("#runs thead button:has-text('optimizer.lr')")
    assert [float(text) for text in column(page, "optimizer.lr")] == rates[::-1]
    assert page.get_attribute("#runs thead th[aria-sort=descending]", "aria-sort")
    page.select_option("#sort-key", "dataset.n_environments")
    assert "dataset.n_environments" not in page.inner_text("#runs thead")
    page.select_option("#column-add", "dataset.n_environments")
    assert set(column(page, "dataset.n_environments")) == {"4"}


def test_filter_by_key_and_by_words(page: Any) -> None:
    page.select_option("#filter-key", "method")
    page.select_option("#filter-value", "mean")
    page.click("#filter-add")
    assert column(page, "method") == ["mean"] * 4
    page.fill("#filter-text", "lr=0.01")
    assert len(rows(page)) == 2 and "optimizer.lr" not in page.inner_text("#runs thead")
    assert page.inner_text("#counts") == "2 of 16 runs: 2 done"
    assert column(page, "runs", "#curves-table") == ["2"]
    page.fill("#filter-text", "")
    page.click("#filters button")
    assert len(rows(page)) == 16


def test_a_run_opens_and_shows_what_repeats_it(page: Any) -> None:
    page.fill("#filter-text", "1e+30")
    page.click("#runs button.open")
    details = page.inner_text("#runs tr.more")
    assert "python src/train.py -m " in details and "optimizer.lr=1e30" in details
    assert "training diverged" in details
    assert page.evaluate("document.activeElement.className") == "open"


def test_curves_are_regrouped_by_any_key(page: Any) -> None:
    page.select_option("#filter-key", "search")
    page.select_option("#filter-value", index=0)
    page.click("#filter-add")
    page.select_option("#curves-group", "optimizer.lr")
    assert column(page, "optimizer.lr", "#curves-table") == ["0.0001", "0.001", "0.01"]
    assert page.locator("#curves .trace").count() == 2 * 3  # Of each group its runs and their median.
    page.select_option("#curves-group", "method")
    assert column(page, "method", "#curves-table") == ["AND-mask"]
    assert column(page, "runs of the group differ in", "#curves-table") == ["optimizer.lr"]
    page.select_option("#curves-metric", "train/loss")
    assert page.text_content("#curves .ytitle") == "train/loss"


def test_curves_are_those_of_one_experiment(browser: Any, hundred: list[Record], tmp_path: Path) -> None:
    """The table has a row for each group of seeds of the chosen experiment."""
    few = [
        replace(one, keys={**one.keys, "optimizer.lr": 0.1 ** (i // 2)}) for i, one in enumerate(hundred[:4])
    ]
    other = [
        replace(one, folder=f"other-{i}", keys={**one.keys, "experiment": "another", "seed": i})
        for i, one in enumerate(hundred[4:7])
    ]
    report = written(tmp_path, render([*few, *other], {}, [], "Made now"))
    with opened(browser, report) as page:
        assert page.locator("#curves-experiment option").all_inner_texts() == ["another", "spirals"]
        assert column(page, "runs", "#curves-table") == ["3"]
        page.select_option("#curves-experiment", "spirals")
        assert column(page, "runs", "#curves-table") == ["2", "2"]
        page.fill("#filter-text", "other-")  # The only experiment that is left is shown.
        assert column(page, "runs", "#curves-table") == ["3"]
        page.fill("#filter-text", "")
        page.select_option("#sweep-key", "dataset.n_environments")  # All seven runs have the same value.
        for experiment, n in (("another", "3"), ("spirals", "4")):
            page.select_option("#sweep-experiment", experiment)
            assert column(page, "runs", "#sweep-table") == [n]


def test_the_median_of_the_seeds_is_the_thick_line(page: Any, runs: Path) -> None:
    page.fill("#filter-text", "spirals/mean lr=0.01")
    page.select_option("#curves-metric", "test/loss")
    records = [read_record(folder) for folder in find_runs([runs / "spirals"])]
    of_mean = [
        r.curves["test/loss"] for r in records if (r.keys["method"], r.keys["optimizer.lr"]) == ("mean", 0.01)
    ]
    (thin, seeds), (thick, middle) = page.evaluate(
        "document.getElementById('curves').data.map(trace => [trace.line.width, trace.y])"
    )
    assert (thin, thick) == (1, 3.5)
    assert seeds == [*of_mean[0], None, *of_mean[1], None]
    assert middle == pytest.approx([sum(pair) / 2 for pair in zip(*of_mean, strict=True)])  # type: ignore[arg-type]


def test_a_sweep_shows_a_metric_against_the_swept_value(page: Any) -> None:
    page.fill("#filter-text", "spirals/")
    page.select_option("#sweep-key", "optimizer.lr")
    assert column(page, "optimizer.lr", "#sweep-table") == ["0.001", "0.01"] * 2
    assert column(page, "runs", "#sweep-table") == ["2"] * 4
    page.fill("#filter-text", "optimizer.lr=1e+30")
    page.select_option("#sweep-key", "seed")
    assert rows(page, "#curves-table") == []
    assert "that passes the filter has both" in page.inner_text("#sweep")


def test_no_button_of_a_plot_sends_it_anywhere(page: Any) -> None:
    titles = page.eval_on_selector_all("#curves .modebar-btn", "all => all.map(one => one.dataset.title)")
    assert "Zoom" in titles and not [title for title in titles if re.search("share|cloud|edit", title, re.I)]


def test_searches_show_their_trials_with_their_parameters(page: Any) -> None:
    page.select_option("#search-metric", "test/loss")
    losses = [float(text) for text in column(page, "test/loss", "#trials")]
    page.select_option("#search-order", "up")
    assert [float(text) for text in column(page, "test/loss", "#trials")] == sorted(losses)
    assert set(column(page, "optimizer.lr", "#trials")) == {"0.0001", "0.001", "0.01"}
    assert page.locator("#search-plots .main-svg").count() > 0


def test_failures_show_their_last_message(page: Any) -> None:
    shown = page.inner_text("#failures")
    assert (
        "training diverged" in shown
        and "metrics.jsonl is damaged" in shown
        and "Run the same command again to continue" in shown
    )
    assert page.locator("#failures .failure").count() == 3


def test_the_second_tab_by_keyboard_alone(page: Any) -> None:
    page.focus("#tab-runs")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-claims"
    assert page.is_hidden("#panel-runs") and page.is_visible("#panel-claims")
    page.keyboard.press("Tab")  # The choice of colours.
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "the claim & more" in page.inner_text("details.claim") and "in part: <b>" in page.inner_text(
        "details.claim"
    )
    # A hidden picture loads only once its panel is open, so the test waits for it.
    page.wait_for_function("document.querySelector('figure img').naturalWidth === 1")
    page.focus("#tab-claims")
    page.keyboard.press("ArrowLeft")
    assert page.is_visible("#panel-runs")


def test_every_control_is_reached_with_the_tab_key_and_has_a_name(page: Any) -> None:
    wanted = page.evaluate(
        "[...document.querySelectorAll('select, input')].filter(one => one.offsetParent).map(one => one.id)"
    )
    reached = []
    page.focus("#tab-runs")
    for _ in range(200):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
        if reached[-1] == wanted[-1]:
            break
    assert [name for name in reached if name in wanted] == wanted
    assert page.evaluate("[...document.querySelectorAll('select, input')].every(one => one.labels.length)")


def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Any, report: str) -> None:
    with opened(browser, report, viewport={"width": 360, "height": 700}, has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate("document.querySelector('#curves svg').getBoundingClientRect().width") <= 360
        assert page.evaluate("matchMedia('(pointer: coarse)').matches")
        buttons, plot = (
            page.evaluate(f"document.querySelector('#curves {part}').getBoundingClientRect().toJSON()")
            for part in (".modebar-group", ".nsewdrag")
        )
        assert buttons["height"] > 0 and buttons["bottom"] <= plot["top"]
        assert (
            page.evaluate("parseFloat(getComputedStyle(document.querySelector('#runs td')).fontSize)") >= 14
        )
        page.click("#tab-claims")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_words_stand_out_from_their_ground_in_either_theme(scheme: str, page: Any) -> None:
    """By a contrast of 4.5 to 1, what the WCAG ask of plain text; chosen by hand as by the system."""
    page.emulate_media(color_scheme=scheme)
    for theme in ("system", "dark", "light"):
        page.select_option("#theme", theme)
        is_dark = "dark" in (theme, scheme if theme == "system" else "")
        assert (luminance(page, "body", "backgroundColor") < 0.1) == is_dark
        for part in PARTS:
            words, ground = luminance(page, part, "color"), luminance(page, "body", "backgroundColor")
            low, high = sorted((words, ground))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (theme, part)
    page.select_option("#theme", "system")


def luminance(page: Any, part: str, which: str) -> float:
    """Of the first such element's colour, by the WCAG's formula."""
    color = page.eval_on_selector(part, f"one => getComputedStyle(one).{which}")
    parts = [int(value) / 255 for value in re.findall(r"\d+", color)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_table_answers_before_the_plotting_library_is_read(browser: Any, report: str) -> None:
    """With the first frame, after which the library is read, held back until the table has answered."""
    hold = "window.frames_held = []; window.requestAnimationFrame = (then) => window.frames_held.push(then)"
    with opened(browser, report, "#runs tbody tr", hold) as page:
        page.fill("#filter-text", "spirals/")
        assert len(rows(page)) == 8
        page.click("#runs thead button:text-is('seed')")
        assert column(page, "seed") == sorted(column(page, "seed"))
        page.wait_for_load_state("load")
        assert page.evaluate("typeof Plotly") == "undefined" and page.inner_text("#opened") == ""
        assert not page.locator(".trace").count()
        page.evaluate("window.frames_held.splice(0).forEach((then) => then())")
        page.wait_for_selector("#sweep .trace", state="attached")
        assert re.fullmatch(
            r"Opened: the table after [\d.]+ s, the last plot after [\d.]+ s\.", page.inner_text("#opened")
        )


def test_a_hundred_runs_open_in_two_seconds(browser: Any, hundred: list[Record], tmp_path: Path) -> None:
    """Beyond what the plotting library alone takes; the best of several openings, since others spoil some."""
    session = browser.new_browser_cdp_session()

    def spent() -> dict[int, float]:
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        return {one["id"]: one["cpuTime"] for one in processes if one["type"] == "renderer"}

    def opening(address: str, sign: str) -> float:
        before = spent()
        with opened(browser, address, sign) as page:
            assert page.inner_text("p").startswith(("100 runs", "nothing"))
            return sum(seconds - before.get(process, 0) for process, seconds in spent().items())

    whole = written(tmp_path / "whole", render(hundred, {}, [], ""))
    alone = written(tmp_path / "alone", f"<p>nothing</p><script>{get_plotlyjs()}</script>")
    times = [opening(whole, "#sweep .trace") - opening(alone, "p") for _ in range(3)]
    assert min(times) < SECONDS
