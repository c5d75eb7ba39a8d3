"""The README's code runs as it stands there; where torch is alone, what needs torch alone does."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

TORCH_ALONE = {"torch", "ilc", "ilc.aggregators", "ilc.gradients", "ilc.objectives", "ilc.optim"}


def blocks(root: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.S)


def modules_of(block: str) -> set[str]:
    """What a snippet imports; ``ilc.load_run`` counts as the module that it comes from."""
    found = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {"ilc.runs" if alias.name == "load_run" else str(node.module) for alias in node.names}
    return found


def test_snippets_train(root: Path) -> None:
    """All blocks form one program, which must lower the risk."""
    found = blocks(root)
    if find_spec("scipy") is None:
        found = [block for block in found if modules_of(block) <= TORCH_ALONE]
    namespace: dict[str, object] = {}
    exec(compile("\n".join(found), "README.md", "exec"), namespace)
    result = namespace["result"]
    assert float(result.risks.mean()) < 0.5  # type: ignore[attr-defined]
    assert all(0 <= float(share) <= 1 for share in result.kept_share.values())  # type: ignore[attr-defined]
    median = namespace["MedianSign"]
    update = median()(torch.tensor([[1.0], [2.0], [-1.0]]))  # type: ignore[operator]
    assert update.item() == pytest.approx(1.0)
