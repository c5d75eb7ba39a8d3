"""The README's code runs as it stands there; where torch is alone, what needs torch alone does."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

TORCH_ALONE = {"torch", "ilc", "ilc.aggregators", "ilc.gradients", "ilc.objectives", "ilc.optim"}


def blocks(root: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.S)


def modules_of(block: str) -> set[str]:
    """What a snippet imports; ``lab.load_run`` counts as the module that it comes from."""
    found = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {"lab.runs" if alias.name == "load_run" else str(node.module) for alias in node.names}
    return found


def alone(block: str) -> dict[str, Any]:
    """What a snippet defines, run by itself."""
    namespace: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), namespace)
    return namespace


def test_snippets_stand_alone(root: Path) -> None:
    found = blocks(root)
    assert len(found) == 2
    for block in found:
        if find_spec("scipy") is not None or modules_of(block) <= TORCH_ALONE:
            alone(block)


def test_the_first_snippet_trains(root: Path) -> None:
    result = alone(blocks(root)[0])["result"]
    assert float(result.risks.mean()) < 0.5
    assert all(0 <= float(share) <= 1 for share in result.kept_share.values())


def test_the_second_snippet_is_an_aggregator(root: Path) -> None:
    median = alone(blocks(root)[1])["MedianSign"]
    update = median()(torch.tensor([[1.0], [2.0], [-1.0]]))
    assert update.item() == pytest.approx(1.0)
