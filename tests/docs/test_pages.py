"""Pages can be read as they stand: short where promised, and nothing that they link to is missing."""

from __future__ import annotations

import re
from pathlib import Path

from docs.printed_files import printed_files

FENCE = re.compile(r"^```.*?^```", re.M | re.S)
PATH = re.compile(r"`((?:src|conf|docs|results|scripts|notebooks|tests)/[\w./*-]+)`")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]*)\)")


def test_readme_is_short(root: Path) -> None:
    assert len((root / "README.md").read_text().splitlines()) <= 150


def test_links_anchors_and_images_exist(pages: list[Path], root: Path) -> None:
    assert len(pages) > 10
    missing = []
    for page in [*pages, root / "CHANGELOG.md"]:
        for link in LINK.findall(FENCE.sub("", page.read_text())):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            there = target.is_relative_to(root) and target.exists()
            if not there or (anchor and anchor not in anchors(target.read_text())):
                missing.append((page.name, link))
    assert not missing


def anchors(text: str) -> set[str]:
    """What a forge calls headings: lower case, no punctuation, hyphens for spaces, numbered if repeated."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        numbered = (name, *(f"{name}-{i}" for i in range(1, 100)))
        found.add(next(candidate for candidate in numbered if candidate not in found))
    return found


def test_anchors_are_those_of_a_forge() -> None:
    text = "# A vote: per `example`\n## Two\n```\n# no heading\n```\n## Two\n"
    assert anchors(text) == {"a-vote-per-example", "two", "two-1"}


def test_every_page_is_reached_from_the_readme(pages: list[Path], root: Path) -> None:
    """In one step, or from page to page."""
    reached, ahead = set(), {root / "README.md"}
    while ahead:
        page = ahead.pop()
        reached.add(page)
        links = LINK.findall(FENCE.sub("", page.read_text()))
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links}
        ahead |= {path for path in found if path.suffix == ".md" and path.exists()} - reached
    assert {page for page in pages if page.parent == root / "docs"} <= reached


def test_extras_named_in_the_pages_exist(pages: list[Path], root: Path) -> None:
    project = (root / "pyproject.toml").read_text()
    named = {extra for page in pages for extra in re.findall(r"pip install '\.\[(\w+)\]'", page.read_text())}
    assert named
    assert all(re.search(rf"^{extra} = \[", project, re.M) for extra in named), named


def test_files_named_in_the_pages_exist(pages: list[Path], root: Path) -> None:
    """Those in code spans, of notebooks too. NAME stands for any; a page may print the file."""
    texts = [*pages, *(root / "notebooks").glob("*.ipynb")]
    named = {(text.name, path) for text in texts for path in PATH.findall(text.read_text())}
    printed = {path for page in pages for path in printed_files(page)}
    real = {(page, path) for page, path in named if not re.search(r"[A-Z]{2,}", path)}
    real = {(page, path) for page, path in real if path not in printed}
    assert len(real) > 20
    assert not {(page, path) for page, path in real if not any(root.glob(path))}


def test_lines_of_prose_are_short(pages: list[Path], root: Path) -> None:
    """Tables, code and what is one long word or link are exempt."""
    for page in [*pages, root / "CHANGELOG.md"]:
        for line in FENCE.sub("", page.read_text()).splitlines():
            if line.startswith(("|", "#", "![", "<!--")):
                continue
            words = re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", lambda match: match[0].replace(" ", "_"), line)
            may_break = " " in words.strip().removeprefix("- ")
            assert len(line) <= 100 or not may_break, (page.name, line)
