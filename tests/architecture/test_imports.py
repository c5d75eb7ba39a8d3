"""Which room may import which: the arrows of docs/architecture.md, held by the code itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGES = ("ilc", "lab")

LIBRARY = {
    "aggregators",
    "diagnosis",
    "gradients",
    "kernels",
    "lora",
    "objectives",
    "optim",
    "distributed",
    "verification",
}
SHARED = {
    "errors",
    "seeding",
    "atomic",
    "locked",
    "torchvision_import",
    "processes",
    "stop_signals",
    "sealed",
    "free_memory",
    "checksums",
}
LEARNING = LIBRARY | {
    "integrations",
    "data",
    "models",
    "environment_task",
    "consistency",
    "experiments",
    "figures",
    "report",
}

FORBIDDEN = {
    **{
        room: {"integrations", "runs", "configuration", "data", "models", "environment_task"}
        for room in sorted(LIBRARY)
    },
    "integrations": {"runs", "configuration", "data", "models", "environment_task", "consistency"},
    "configuration": LEARNING | {"runs"},
    "runs": LEARNING,
    "data": {"runs", "configuration", "environment_task", "experiments", "figures", "models", "gradients"},
    "models": {"runs", "configuration", "environment_task", "experiments", "figures", "data", "gradients"},
    "environment_task": {"experiments", "figures", "consistency"},
    "consistency": {"runs", "configuration", "environment_task", "experiments", "figures"},
    "figures": {"runs", "environment_task", "gradients", "models", "report", "experiments"},
    "experiments": {"report"},
    "report": LEARNING - {"figures", "report"},
}
"""Room -> rooms that nothing in it may import, at the top of a file or inside a function."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[1].removesuffix(".py")


def imports(path: Path, only_at_top: bool = False) -> Iterator[str]:
    """The dotted names that a file imports from the library and the laboratory."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if only_at_top else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in PACKAGES)


def files() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in files()
        if room_of(path) == room
        for name in imports(path)
        if name.split(".")[1] in FORBIDDEN[room]
    ]
    assert not wrong


OPTIONAL = {"numba", "numpy", "pandas", "triton"}
"""What the library takes only where it is installed; numba brings numpy, torch for CUDA brings triton.

Data frames of ``ilc.diagnose`` need pandas."""


def test_the_library_imports_torch_alone() -> None:
    wrong = []
    for path in files():
        if room_of(path) not in LIBRARY | {"errors"}:
            continue
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            allowed = {"torch", "ilc", *sys.stdlib_module_names} | (set() if node in tree.body else OPTIONAL)
            wrong += [f"{path.name}: {name}" for name in names if name.split(".")[0] not in allowed]
    assert not wrong


def test_no_file_imports_itself_round_about() -> None:
    """Imports at the top of the files make no circle."""
    modules = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in files()}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = set()
        for imported in imports(path, only_at_top=True):
            parts = imported.split(".")
            longest = next(
                (c for c in (".".join(parts[:n]) for n in range(len(parts), 1, -1)) if c in modules), None
            )
            # A package's __init__ imports its own files: that is its purpose, not a circle.
            if longest is not None and longest != name and not name.startswith(f"{longest}."):
                found.add(longest)
        graph[name] = found
    assert list(TopologicalSorter(graph).static_order())


def test_figures_and_claims_read_tables_alone() -> None:
    """No arrow from a figure to what trains or searches."""
    training = {"runs", "environment_task", "gradients"}
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in files()
        if {"figures", "claims"} & set(path.relative_to(SOURCE).parts)
        for name in imports(path)
        if name.split(".")[1] in training
    ]
    assert not wrong


CLASSES = {
    "Aggregator", "AndMask", "XorMask", "Mean", "MeanOfEnvironments", "GeometricMean", "IrmPenalty",
    "DomainAdversarial", "TemporalMask", "TemporalMaskAdam", "Linear", "MLP", "FastResNet", "ResNet18",
    "DomainAdversarialMLP", "Adam", "SGD", "Risk",
}  # fmt: skip

CHOICES = {
    path.stem
    for group in ("aggregator", "model", "optimizer")
    for path in (ROOT / "conf" / group).glob("*.yaml")
}


@pytest.mark.parametrize("room", ["runs", "environment_task"])
def test_the_loop_knows_no_method_model_optimizer_or_risk_by_name(room: str) -> None:
    """Each says of itself what the loop must know; a method's own file may look at its own partners."""
    wrong = []
    for path in files():
        if room_of(path) != room or "methods" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                names |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
                wrong += [f"{path.name}:{node.lineno} {name}" for name in names & CLASSES]
            if isinstance(node, ast.Compare):
                constants = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                chosen = {
                    p.stem
                    for g in ("aggregator", "model", "optimizer")
                    for p in (ROOT / "conf" / g).glob("*.yaml")
                }
                wrong += [f"{path.name}:{node.lineno} {value!r}" for value in constants if value in chosen]
    assert not wrong
