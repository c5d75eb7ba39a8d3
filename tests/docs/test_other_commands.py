"""Commands of other programs: what they name is there. And no line of a block goes unchecked."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from lab.configuration.compose import compose_experiment

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
OWN = re.compile(r"(?:\.venv/bin/)?python (?:src|scripts)/\w+\.py|make \w+")
"""Those are in test_commands.py."""
OTHERS = re.compile(r"(?:\.venv/bin/)?(?:torchrun|pip|conda|pre-commit|apt-get|python -[cm])\s")


def blocks(text: str) -> list[str]:
    """Those in which a shell's commands may stand."""
    return [block for language, block in FENCE.findall(text) if language in ("", "sh", "bash")]


def lines(block: str) -> list[str]:
    """The commands of a block, each whole."""
    return [line for line in block.replace("\\\n", "").splitlines() if line.strip()]


@pytest.fixture(scope="module")
def commands(pages: list[Path]) -> list[str]:
    found = []
    for page in pages:
        text = page.read_text()
        found += [line for block in blocks(text) for line in lines(block) if OTHERS.match(line)]
        found += [span for span in SPAN.findall(FENCE.sub("", text)) if OTHERS.match(span)]
    return found


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, object]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def test_every_line_of_a_block_is_a_command_that_is_checked_or_python(pages: list[Path]) -> None:
    unknown = []
    for page in pages:
        for block in blocks(page.read_text()):
            if not all(OWN.match(line) or OTHERS.match(line) for line in lines(block)):
                try:
                    ast.parse(block)
                except SyntaxError:
                    unknown.append((page.name, block))
    assert not unknown


def test_extras_that_are_installed_exist(commands: list[str], project: dict[str, object]) -> None:
    extras = project["project"]["optional-dependencies"]  # type: ignore[index]
    named = {
        name
        for command in commands
        for names in re.findall(r"\[([\w,]+)\]", command)
        for name in names.split(",")
    }
    assert {"kernels", "cluster"} <= named <= extras.keys()


def test_files_that_are_named_exist(commands: list[str], root: Path) -> None:
    named = {
        word
        for command in commands
        if " -c " not in command
        for word in shlex.split(command)
        if re.search(r"/|\.ya?ml$", word)
    }
    named = {word for word in named if not word.startswith((".venv/", "["))}
    assert {"environment.yml", ".ci/pre-commit.yaml", "src/train.py"} <= named
    assert not {word for word in named if not (root / word).exists()}


def test_marks_of_pytest_exist(commands: list[str], project: dict[str, object]) -> None:
    known = project["tool"]["pytest"]["ini_options"]["markers"]  # type: ignore[index]
    marks = [mark for command in commands for mark in re.findall(r"pytest.* -m (\w+)", command)]
    assert marks
    assert all(any(text.startswith(f"{mark}:") for text in known) for mark in marks)


def test_what_python_is_told_to_run_imports(commands: list[str]) -> None:
    codes = [shlex.split(command)[2] for command in commands if "python -c " in command]
    assert codes
    for code in codes:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, alias.name) for alias in node.names), code


def test_runs_in_several_processes_compose(commands: list[str]) -> None:
    runs = [shlex.split(command) for command in commands if "src/train.py" in command]
    assert runs
    for words in runs:
        compose_experiment(words[words.index("src/train.py") + 1 :], sweep=False)
