"""Which room of the laboratory may import which other rooms: the arrows point in one direction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

LAB = Path(__file__).parents[2] / "src" / "lab"

BASE = {"files", "machine", "terminal", "configuration"}

ALLOWED = {
    "files": set(),
    "machine": set(),
    "terminal": set(),
    "configuration": {"machine", "terminal"},
    "data": {"files", "machine"},
    "models": {"machine"},
    "runs.one_run": BASE,
    "runs.pool": BASE,
    "runs.tables": {*BASE, "runs.one_run"},
    "runs.sweep": {*BASE, "runs.one_run", "runs.pool"},
    "runs.search": {*BASE, "runs.one_run", "runs.pool", "runs.tables", "runs.sweep"},
    "runs.study": {*BASE, "runs.one_run", "runs.pool", "runs.tables", "runs.sweep", "runs.search"},
    "environment_task": {*BASE, "data", "models", "runs.one_run"},
    "report": {*BASE, "figures", "runs.one_run"},
}
"""Room -> other rooms that its files may import, at the top of a file or inside a function."""


def files_of(room: str) -> list[Path]:
    return sorted((LAB / room.replace(".", "/")).rglob("*.py"))


def imported_modules(path: Path) -> Iterator[str]:
    """The modules of the laboratory that a file imports, without the leading ``lab.``."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "lab":
                yield ".".join(parts[1:])


def room_of(module: str) -> str:
    """The room of a module: ``runs`` has rooms of its own."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "runs" else parts[0]


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_the_rooms_that_it_may(room: str) -> None:
    files = files_of(room)
    assert files
    wrong = [
        f"{path.relative_to(LAB)} imports {module}"
        for path in files
        for module in imported_modules(path)
        if room_of(module) not in {room, *ALLOWED[room]}
    ]
    assert not wrong


def test_the_arrows_between_rooms_make_no_circle() -> None:
    assert list(TopologicalSorter(ALLOWED).static_order())


def test_every_room_of_the_runs_is_listed() -> None:
    rooms = {f"runs.{path.name}" for path in (LAB / "runs").iterdir() if (path / "__init__.py").exists()}
    assert rooms == {room for room in ALLOWED if room.startswith("runs.")}


def modules() -> dict[str, Path]:
    """Every module of the laboratory; a package is its ``__init__``."""
    found = {".".join(path.relative_to(LAB).with_suffix("").parts): path for path in LAB.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in found.items()}


@pytest.mark.parametrize("room", ALLOWED)
def test_the_files_of_a_room_import_each_other_in_one_direction(room: str) -> None:
    """Imports inside functions count too, so that no file waits for another to be loaded first."""
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        if room_of(name) != room or path.name == "__init__.py":
            continue
        graph[name] = {
            part
            for module in imported_modules(path)
            for part in (module, module.rpartition(".")[0])
            if part in known and known[part].name != "__init__.py" and room_of(part) == room
        }
    assert list(TopologicalSorter(graph).static_order())
