"""The page of the API lists every public name, nothing else, and its examples run and use what they list."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import ilc
from lab.machine.torchvision_import import import_torchvision

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SECTION = re.compile(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", re.M | re.S)
SECTIONS = dict(SECTION.findall(PAGE.read_text()))
OF_THE_EXPERIMENTS = {"lab.configuration", "lab.environment_task", "lab.environment_task.methods"}
"""Public to this package alone; extending.md says how to use them."""


@pytest.fixture
def whole_torchvision(section: str) -> None:
    """Imported before transformers, which imports it where it is installed."""
    if section == "ilc.integrations":
        import_torchvision()


def example(section: str) -> str:
    (code,) = re.findall(r"^```python\n(.*?)^```", SECTIONS[section], re.M | re.S)
    return str(code)


def listed(section: str) -> list[str]:
    cells = re.findall(r"^\| (`.*?) \|", SECTIONS[section], re.M)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_every_package_with_public_names_has_a_section() -> None:
    source = Path(ilc.__file__).parents[1]
    public = {
        ".".join(path.parent.relative_to(source).parts)
        for path in source.glob("*/**/__init__.py")
        if "__all__" in path.read_text()
    }
    assert public - OF_THE_EXPERIMENTS == SECTIONS.keys()


@pytest.mark.usefixtures("whole_torchvision")
@pytest.mark.parametrize("section", SECTIONS)
def test_the_list_is_that_of_the_module(section: str) -> None:
    module = import_module(section)
    assert sorted(listed(section)) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in listed(section))


@pytest.mark.usefixtures("whole_torchvision")
@pytest.mark.parametrize("section", SECTIONS)
def test_the_example_runs_and_uses_every_name(section: str) -> None:
    code = example(section)
    used = re.sub(r"^(from|import) (?:[^(\n]*\([^)]*\)|.*)", "", code, flags=re.M)
    assert not [name for name in listed(section) if not re.search(rf"\b{name}\b", used)]
    assert "assert " in code
    exec(compile(code, section, "exec"), {})
