"""No experiment imports another, and every module has what its room is for."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from lab.figures.discovery import experiments, figure_modules, modules

HOMES = Path(__file__).parents[3] / "src" / "lab" / "experiments"


def imported_by(path: Path) -> set[str]:
    """Full names of the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_no_experiment_imports_another() -> None:
    shared = {path.stem for path in HOMES.glob("*.py")}
    for path in HOMES.rglob("*.py"):
        home = path.relative_to(HOMES).parts[0]
        for name in imported_by(path):
            if name.startswith("lab.experiments."):
                assert name.split(".")[2] in {home, *shared}, f"{path} imports {name}"


@pytest.mark.parametrize("experiment", experiments())
def test_every_module_has_what_its_room_is_for(experiment: str) -> None:
    for name in modules(experiment, "claims"):
        assert callable(import_module(name).claims), name
    for name in modules(experiment, "measurements"):
        assert callable(import_module(name).parts), name


@pytest.mark.parametrize("name", figure_modules())
def test_every_figure_module_draws_or_tabulates(name: str) -> None:
    module = import_module(figure_modules()[name])
    assert hasattr(module, "draw") or hasattr(module, "tabulate")
