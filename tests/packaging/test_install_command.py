"""Messages about a missing package name a command that works where the package of this repository lies."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from ilc import _extras


def test_the_command_names_the_clone_where_pip_has_installed_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str) -> None:
        assert name == "ilc"

    monkeypatch.setattr(_extras, "distribution", found)
    assert _extras.install_command("wandb") == "pip install 'ilc[wandb]'"

    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_extras, "distribution", absent)
    assert _extras.install_command("wandb") == f"pip install '{root}[wandb]'"
    assert (root / "pyproject.toml").exists()


def test_no_other_message_names_an_extra(root: Path) -> None:
    files = [*(root / "src").rglob("*.py"), *(root / "docs").glob("*.md"), root / "README.md"]
    assert [path.name for path in files if "pip install 'ilc[" in path.read_text()] == ["_extras.py"]
