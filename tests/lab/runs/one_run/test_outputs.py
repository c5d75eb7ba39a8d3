"""One rule where results of running lie: below the current folder, whatever the command."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from lab.runs.one_run.run_files import OUTPUTS


def test_no_command_says_another_folder(root: Path) -> None:
    assert Path("outputs") == OUTPUTS
    assert yaml.safe_load((root / "conf/config.yaml").read_text())["hydra"]["run"]["dir"].startswith(
        "outputs/"
    )
    for path in [*root.glob("scripts/*.py"), root / "src/train.py", *root.glob("src/ilc/**/*.py")]:
        strings = [
            node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)
        ]
        assert "outputs" not in strings or path.name == "run_files.py", path


@pytest.mark.parametrize("script", ["run_many", "search", "study", "demo"])
def test_every_script_takes_it_from_there(script: str, root: Path) -> None:
    assert "OUTPUTS" in (root / "scripts" / f"{script}.py").read_text()
