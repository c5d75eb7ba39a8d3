"""The site builds without a warning, says what the pages say, and a browser opens it without an error."""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from api_pages import defined_in, public_names
from markdown_it import MarkdownIt
from mkdocs.config import load_config

pytestmark = pytest.mark.slow

COUNTED = {"h2", "h3", "img", "li", "pre", "table", "td", "tr"}


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=root, env=environment, check=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def modules(root: Path) -> list[str]:
    """The modules that have a page of their docstrings."""
    return list(load_config(str(root / "mkdocs.yml")).extra["api"])


class Counts(HTMLParser):
    """How often each kind of element stands in the page's own text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.text = html.partition("<article")[2].partition("</article>")[0]
        self.feed(f"<article{self.text}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] += tag in COUNTED


def test_a_page_of_the_site_has_what_a_forge_shows(root: Path, site: Path) -> None:
    """MkDocs reads another Markdown than forges do: lists without an empty line before them are none."""
    forge = MarkdownIt("commonmark").enable("table")
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    for page in pages:
        place = page.relative_to(root)
        folder = place.parent if place.name == "README.md" else place.with_suffix("")
        shown = Counts((site / folder / "index.html").read_text())
        wanted = Counts(f"<article>{forge.render(page.read_text())}</article>")
        assert shown.found == wanted.found, place


def test_the_navigation_has_every_page(root: Path, site: Path) -> None:
    html = (site / "index.html").read_text().partition("<article")[0]
    for page in (root / "docs").glob("*.md"):
        if page.name != "README.md":
            assert f'href="docs/{page.stem}/"' in html, page.name


def test_pages_of_modules_have_every_public_name(site: Path, modules: list[str]) -> None:
    """Each name has a heading on its module's page, or a link there to the page that has it."""
    assert "ilc.gradients" in modules
    pages = {module: Counts((site / "api" / module / "index.html").read_text()).text for module in modules}
    for module, text in pages.items():
        names = public_names(module)
        assert names == import_module(module).__all__
        for name in names:
            own = f'id="{module}.{name}"' in text
            elsewhere = [
                f"{other}.{name}"
                for other in modules
                if name in public_names(other) and defined_in(other, name) == defined_in(module, name)
            ]
            linked = any(
                f'#{path}"' in text and any(f'id="{path}"' in other for other in pages.values())
                for path in elsewhere
            )
            assert own or linked, (module, name)


def test_every_local_link_of_the_site_leads_to_a_file(site: Path) -> None:
    """Those that MkDocs checks, and those of generated pages too."""
    missing, n_links = [], 0
    for page in site.rglob("index.html"):
        text = Counts(page.read_text()).text
        for link in re.findall(r'(?:href|src)="(?!https?:|mailto:|#)([^"#]*)', text):
            n_links += 1
            target = (page.parent / link).resolve()
            if not (target.is_file() or (target / "index.html").is_file()):
                missing.append((page.relative_to(site), link))
    assert not missing and n_links > 100


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server on this machine shows the site."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Shows files and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize(
    ("page", "heading"),
    [("", "Explanations that are hard to vary, reproduced"), ("api/ilc.gradients/", "ilc.gradients")],
)
def test_a_browser_opens_the_page(browser: Any, address: str, page: str, heading: str) -> None:
    """With its heading and all its pictures, without an error, and without a word to any other server."""
    with browser.new_context() as context:
        tab = context.new_page()
        complaints: list[str] = []
        tab.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda asked: asked.url.startswith(address) or complaints.append(asked.url))
        tab.on("response", lambda answer: answer.ok or complaints.append(f"{answer.status} {answer.url}"))
        tab.goto(address + page, wait_until="load", timeout=60_000)
        assert tab.inner_text("article h1").startswith(heading)
        pictures = tab.eval_on_selector_all("article img", "all => all.map(one => one.naturalWidth)")
        assert all(pictures) and bool(pictures) == (page == "")
        assert not complaints
