"""The map of docs/architecture.md and the table of results/README.md name what is there, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.figures.discovery import experiments, modules

MAP = re.compile(r"^    (  )?(\S+)  +\S", re.M)
ROW = re.compile(r"^\| ((?:`\w+/`(?:, )?)+) \| .+ \| ?(.*?) ?\|$", re.M)
DRAWN = {"tables"}
"""Below results/: of all experiments together."""


def drawn_map(root: Path) -> dict[str, list[str]]:
    """Line of the map -> the lines that are indented below it."""
    text = (root / "docs" / "architecture.md").read_text()
    section = text.split("## The map")[1].split("\n## ")[0]
    found: dict[str, list[str]] = {}
    for indented, name in MAP.findall(section):
        if indented:
            found[list(found)[-1]].append(name)
        else:
            found[name] = []
    return found


@pytest.mark.parametrize("package", ["src/ilc/", "src/lab/"])
def test_the_map_has_every_room_and_every_public_module_of_a_package(package: str, root: Path) -> None:
    rooms = {f"{path.parent.name}/" for path in (root / package).glob("*/__init__.py")}
    files = {path.name for path in (root / package).glob("[!_]*.py")}
    assert sorted(drawn_map(root)[package]) == sorted(rooms | files)


def test_everything_else_on_the_map_exists(root: Path) -> None:
    names = drawn_map(root).keys()
    assert {"conf/", "src/train.py", "scripts/", "docs/", "notebooks/", "results/", "tests/"} <= names
    assert [name for name in names if not (root / name).exists()] == []


def test_the_table_of_results_has_every_folder(root: Path) -> None:
    """A row may stay whose experiment was deleted, with its page."""
    rows = ROW.findall((root / "results" / "README.md").read_text())
    page_of = {name: page for names, page in rows for name in re.findall(r"`(\w+)/`", names)}
    there = {path.name for path in (root / "results").iterdir() if path.is_dir()}
    assert there <= page_of.keys()
    for name in page_of.keys() - there:
        (link,) = re.findall(r"\]\(\.\./(docs/\w+\.md)\)", page_of[name])
        assert not (root / link).exists(), f"results/{name} is not there, {link} is"


def test_every_folder_of_an_experiment_with_claims_has_its_page(root: Path) -> None:
    rows = ROW.findall((root / "results" / "README.md").read_text())
    for names, page in rows:
        folders = {*re.findall(r"`(\w+)/`", names)} - DRAWN
        if any(modules(name, "claims") for name in folders if name in experiments()):
            assert re.search(r"\]\(\.\./docs/\w+\.md\)", page), names
