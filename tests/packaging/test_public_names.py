"""``import ilc`` costs nothing, its names need torch alone, and what needs more says which extra."""

from __future__ import annotations

import pkgutil
import runpy
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest

import ilc

ROOMS = (
    *("ilc.aggregators", "ilc.diagnosis", "ilc.gradients", "ilc.kernels"),
    *("ilc.lora", "ilc.objectives", "ilc.optim"),
)


def loaded_by(code: str, after: str = "pass") -> set[str]:
    """The packages beyond Python's own that ``code`` loads, in a program of its own that ran ``after``."""
    program = f"""
import sys
{after}
before = set(sys.modules)
{code}
print(*{{name.split('.')[0] for name in set(sys.modules) - before}})
"""
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(answer.stdout.split()) - sys.stdlib_module_names


def rooms() -> list[str]:
    """The modules of the rooms that need torch alone."""
    found = [*ROOMS, "ilc.errors", "ilc._seeding"]
    for room in ROOMS:
        found += [module.name for module in pkgutil.walk_packages(import_module(room).__path__, f"{room}.")]
    return found


def test_importing_the_package_loads_nothing_else() -> None:
    assert loaded_by("import ilc") == {"ilc"}


def test_the_method_loads_torch_alone_and_warns_of_nothing() -> None:
    """Torch itself loads numpy where it finds it, and warns where it does not."""
    method = "\n".join(f"import {name}" for name in rooms())
    after = "import warnings, torch\nwarnings.simplefilter('error')"
    assert loaded_by(method, after) - {"torch"} == {"ilc"}


@pytest.mark.parametrize("name", sorted({*ilc.__all__} - {"load_run"}))
def test_names_are_where_they_say(name: str) -> None:
    assert getattr(ilc, name) is getattr(import_module(ilc._HOME[name]), name)
    assert callable(getattr(ilc, name))


def test_version_is_that_of_the_distribution() -> None:
    assert ilc.__version__ == version("ilc")


def test_python_m_ilc_says_where_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("ilc", run_name="__main__")
    said = capsys.readouterr().out
    assert said.startswith(f"ilc {ilc.__version__}: ")
    assert "from ilc import AndMask, backward" in said and "make demo" in said
    assert max(map(len, said.splitlines())) <= 80


def test_python_m_ilc_loads_nothing_else() -> None:
    assert loaded_by("import ilc.__main__") == {"ilc"}


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="IrmPenalty"):
        _ = ilc.IrmPenalty


PUBLIC = {"ilc.__main__", "ilc.errors"}
"""Modules that are public and no package."""


def test_what_is_public_stands_in_a_package() -> None:
    """Every other module, or a folder that holds it, begins with an underscore."""
    modules = {module.name for module in pkgutil.walk_packages(ilc.__path__, "ilc.") if not module.ispkg}
    public = {name for name in modules if not any(part.startswith("_") for part in name.split(".")[1:])}
    assert public | {"ilc.__main__"} == PUBLIC
