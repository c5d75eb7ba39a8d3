"""The README's code runs as it stands there, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch


def blocks(root: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (root / "README.md").read_text(), re.S)


def test_snippets_train(root: Path) -> None:
    """All Python blocks form one program, which must lower the risk."""
    program = "\n".join(blocks(root, "python"))
    assert "backward(" in program
    namespace: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), namespace)
    result = namespace["result"]
    assert float(result.risks.mean()) < 0.5  # type: ignore[attr-defined]
    assert all(0 <= float(share) <= 1 for share in result.kept_share.values())  # type: ignore[attr-defined]
    median = namespace["MedianSign"]
    update = median()(torch.tensor([[1.0], [2.0], [-1.0]]))  # type: ignore[operator]
    assert update.item() == pytest.approx(1.0)


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
