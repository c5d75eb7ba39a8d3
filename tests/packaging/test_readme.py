"""What the README names exists, and its tables are those of the results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_linked_files_exist(root: Path) -> None:
    text = (root / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (root / target).exists(), target


def test_commands_name_real_targets_and_experiments(root: Path) -> None:
    text = (root / "README.md").read_text()
    makefile = (root / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", text, re.M)):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for name in set(re.findall(r"experiment=(\w+)", text)):
        assert (root / "conf" / "experiment" / f"{name}.yaml").exists(), name


@pytest.mark.parametrize("name", ["claims", "cost"])
def test_tables_are_those_of_the_results(name: str, root: Path) -> None:
    shown = re.findall(rf"<!-- table:{name} -->\n(.*?)<!-- end -->", (root / "README.md").read_text(), re.S)
    assert shown == [(root / "results" / "tables" / f"{name}.md").read_text()]


def test_every_deviation_in_the_code_is_listed(root: Path) -> None:
    """A file that marks a deviation must be named in the README's list of deviations."""
    section = (root / "README.md").read_text().split("## Deviations")[1].split("\n## ")[0]
    for path in sorted((root / "src").rglob("*.py")):
        if "Deviation:" in path.read_text():
            assert path.relative_to(root).as_posix() in section, path
