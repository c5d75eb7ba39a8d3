"""Each room imports at its top only what torch and the extras named for it bring."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# The longest beginning of a file's path decides; the library's rooms need torch alone.
EXTRAS = {
    "ilc": set(),
    "ilc/consistency": {"consistency"},
    "ilc/integrations/_accelerate.py": {"accelerate"},
    "ilc/integrations/_transformers.py": {"transformers"},
    "lab": {"experiments"},
    "lab/models": set(),
    "lab/figures": {"figures"},
    "lab/report": {"experiments", "figures", "report"},
    "lab/experiments": {"experiments", "figures", "consistency"},
    "lab/experiments/cost/hugging_face.py": {"experiments", "transformers"},
    "lab/experiments/coinrun": {"experiments", "figures", "coinrun"},
    "lab/experiments/lora_domains": {"experiments", "figures", "transformers"},
    "lab/experiments/distillation": {"experiments", "figures"},
    "lab/experiments/skip_intervals": {"experiments", "figures"},
    "lab/runs/pool/cluster": {"experiments", "cluster"},
    "lab/runs/search": {"experiments", "search"},
    "lab/runs/search/server.py": {"search", "postgres"},
    "lab/runs/study": {"experiments", "search"},
}

# Libraries that a benchmark compares ours with, where somebody installed them.
COMPARED = {"opacus", "torchjd"}

# torch for CUDA brings it. Without a GPU nobody needs it.
ON_A_GPU = {"triton"}


def imported(path: Path, at_top: bool) -> set[str]:
    """The packages that a file imports: when it is loaded, or anywhere in it."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in tree.body if at_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).split(".")[0])
    late = set() if at_top else ON_A_GPU
    return found - sys.stdlib_module_names - {"ilc", "lab", "torch"} - COMPARED - late


def test_imports_are_those_of_the_rooms_extras(root: Path) -> None:
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    bring = {
        extra: {canonicalize_name(Requirement(text).name) for text in texts}
        for extra, texts in declared.items()
        if extra not in {"all", "dev"}
    }
    distributions = packages_distributions()
    seen = set()
    for path in sorted((root / "src").glob("*/**/*.py")):
        place = path.relative_to(root / "src").as_posix()
        room = max((begin for begin in EXTRAS if place.startswith(begin)), key=len)
        seen.add(room)
        for at_top, extras in ((True, EXTRAS[room]), (False, bring.keys())):
            allowed = set().union(*(bring[extra] for extra in extras))
            for name in imported(path, at_top):
                assert canonicalize_name(distributions[name][0]) in allowed, f"{place} imports {name}"
    assert seen == EXTRAS.keys()
