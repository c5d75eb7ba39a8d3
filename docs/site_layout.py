"""The site has the layout of the repository, so a link that works on a forge works on the site.

MkDocs takes pages from one folder and knows nothing beside it. Our pages link to figures, tables, settings
and code in other folders. So each page keeps its path in the repository, and every file that a page links to
is copied to the same path of the site. The front page is README.md at the root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from api_pages import api_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)")
"""The path of a link or an image inside of the repository."""
LINK_WITH_WORDS = re.compile(r"\[([^\[\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from docs/README.md: each section with the pages of its table, then the API."""
    navigation: list[object] = [{"Home": "README.md"}]
    for section in re.split(r"^## +", (DOCS / "README.md").read_text(), flags=re.M)[1:]:
        paths = [in_repository(path) for path in linked(section, DOCS) if path.suffix == ".md"]
        navigation.append({section.splitlines()[0]: paths})
    modules = config.extra["api"]
    navigation.append({"API of the modules": [{module: f"api/{module}.md"} for module in modules]})
    config.nav = navigation
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the pages of docs/ by all that is reached from README.md and docs/, each at its own path."""
    site = [file for file in files if file.src_dir != config.docs_dir]  # What belongs to the theme.
    for path in sorted(reached()):
        site.append(File.generated(config, in_repository(path), abs_src_path=str(path)))
    for module, text in api_pages(config.extra["api"]).items():
        site.append(File.generated(config, f"api/{module}.md", content=text))
    return Files(site)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let a link to a folder lead to the folder's README.md; where there is none, keep its words alone."""
    folder = (ROOT / page.file.src_uri).parent

    def changed(link: re.Match[str]) -> str:
        words, path = link.groups()
        if not (folder / path).is_dir():
            return link[0]
        return f"[{words}]({path}/README.md)" if (folder / path / "README.md").exists() else words

    return LINK_WITH_WORDS.sub(changed, markdown)


def reached() -> set[Path]:
    """The pages, and every file of the repository to which a reached page links."""
    found: set[Path] = set()
    ahead = {ROOT / "README.md", *DOCS.glob("*.md")}
    while ahead:
        path = ahead.pop()
        found.add(path)
        if path.suffix == ".md":
            ahead |= set(linked(path.read_text(), path.parent)) - found
    return found


def linked(text: str, folder: Path) -> Iterator[Path]:
    """The files to which a page in a folder links; the build itself warns of one that is missing."""
    for link in LINK.findall(FENCE.sub("", text)):
        path = (folder / link).resolve()
        path = path / "README.md" if path.is_dir() else path
        if path.is_file() and path.is_relative_to(ROOT):
            yield path


def in_repository(path: Path) -> str:
    """A file's path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()
