"""One set of versions for pip, conda and the running tests; a command line that answers fast."""

from __future__ import annotations

import importlib.metadata
import itertools
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def pins(root: Path, only_here: bool = False) -> dict[str, str]:
    """Names and versions; with ``only_here`` those that this system takes."""
    lines = (root / "requirements.txt").read_text().splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found = {}
    for requirement in requirements:
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", f"{requirement} is not pinned"
        if not only_here or requirement.marker is None or requirement.marker.evaluate():
            found[canonicalize_name(requirement.name)] = specifier.version
    return found


def test_every_dependency_is_pinned_within_its_bounds(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    pinned = pins(root)
    extras = project["optional-dependencies"]
    for text in [*project["dependencies"], *itertools.chain(*extras.values())]:
        requirement = Requirement(text)
        if requirement.name == "ilc":
            assert requirement.extras == extras.keys() - {"all", "dev"}  # What 'ilc[all]' adds up.
        else:
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


def test_conda_and_pip_give_the_same_versions(root: Path) -> None:
    """Conda brings Python and pip, which reads the same file: nothing else may name a version."""
    environment = yaml.safe_load((root / "environment.yml").read_text())
    python, pip, from_pip = environment["dependencies"]
    assert pip == "pip"
    assert from_pip == {"pip": ["-r requirements.txt"]}
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    version = python.removeprefix("python=")
    assert Requirement(f"python{project['requires-python']}").specifier.contains(f"{version}.0")


def test_what_is_installed_is_what_is_pinned(root: Path) -> None:
    for name, version in pins(root, only_here=True).items():
        # torch's CPU build calls itself 2.13.0+cpu.
        assert importlib.metadata.version(name).split("+")[0] == version, name


def test_no_host_and_no_private_path_in_the_requirements(root: Path) -> None:
    for line in (root / "requirements.txt").read_text().splitlines():
        assert "/" not in line
        assert "@" not in line


def test_help_is_fast(root: Path) -> None:
    command = [sys.executable, str(root / "src" / "train.py"), "--help"]
    subprocess.run(command, check=True, capture_output=True)
    # CPU time, because on a busy machine the clock tells how busy it is.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3
    assert "aggregator: agreement_random, agreement_sum, and_mask, coral, dann" in answer.stdout


def test_help_loads_no_torch(root: Path) -> None:
    code = """
import runpy, sys
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    pass
assert "torch" not in sys.modules and "wandb" not in sys.modules
"""
    train = root / "src" / "train.py"
    program = f"import sys; sys.argv = [{str(train)!r}, '--help']; sys.path.insert(0, {str(train.parent)!r})"
    subprocess.run([sys.executable, "-c", program + code], check=True, capture_output=True)
