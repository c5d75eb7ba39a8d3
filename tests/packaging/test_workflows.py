"""The workflows run elsewhere. Here: what they call exists, they may do little, they test what we promise."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

PINNED = re.compile(r"actions/[\w-]+@v\d+|pypa/gh-action-pypi-publish@release/v\d+")
"""Actions of the forge and of the index, each held at a major version."""


@pytest.fixture(scope="module")
def workflows(root: Path) -> dict[str, dict[Any, Any]]:
    files = sorted((root / ".github" / "workflows").iterdir())
    return {path.stem: yaml.safe_load(path.read_text()) for path in files}


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return found


def jobs(workflows: dict[str, dict[Any, Any]]) -> dict[str, dict[str, Any]]:
    return {name: job for workflow in workflows.values() for name, job in workflow["jobs"].items()}


def rows(job: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = job["strategy"]["matrix"]["include"]
    return found


def test_each_may_read_runs_once_and_ends(workflows: dict[str, dict[Any, Any]]) -> None:
    assert workflows.keys() == {"ci", "release"}
    for name, workflow in workflows.items():
        # YAML reads the word "on" as true.
        assert {"name", True, "permissions", "concurrency", "jobs"} == workflow.keys(), name
        assert workflow["permissions"] == {"contents": "read"}
        assert workflow["concurrency"]["group"]
    for name, job in jobs(workflows).items():
        assert job["timeout-minutes"] <= 60, name


def test_only_the_publishing_job_may_more_and_runs_no_code_of_ours(
    workflows: dict[str, dict[Any, Any]],
) -> None:
    allowed = {name: job["permissions"] for name, job in jobs(workflows).items() if "permissions" in job}
    assert allowed == {"publish": {"id-token": "write"}}
    publish = workflows["release"]["jobs"]["publish"]
    assert publish["needs"] == "build" and publish["environment"] == "pypi"
    assert all("run" not in step for step in publish["steps"])
    assert workflows["release"][True] == {"push": {"tags": ["v*"]}}


def test_actions_are_held_at_a_major_version(workflows: dict[str, dict[Any, Any]]) -> None:
    used = {step["uses"] for job in jobs(workflows).values() for step in job["steps"] if "uses" in step}
    assert used and all(PINNED.fullmatch(action) for action in used), used


def test_commands_name_what_exists(root: Path, workflows: dict[str, dict[Any, Any]]) -> None:
    makefile = (root / "Makefile").read_text()
    targets = {row["target"] for row in rows(workflows["ci"]["jobs"]["repository"])}
    scripts = set()
    for job in jobs(workflows).values():
        for command in (step["run"] for step in job["steps"] if "run" in step):
            targets |= set(re.findall(r"make ([\w-]+)", command))
            scripts |= set(re.findall(r"python (\S+\.py)", command))
    assert targets == {"lint", "docs", "figures", "wheel", "test", "test-slow"}
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    assert scripts and all((root / script).is_file() for script in scripts)


def test_ci_runs_all_that_one_machine_does(root: Path, workflows: dict[str, dict[Any, Any]]) -> None:
    """Only a real Slurm is left to .ci/run, where the slow tests build the site and draw the figures."""
    local = set(re.findall(r"^make ([\w-]+)", (root / ".ci" / "run").read_text(), re.M))
    assert (local - {"setup"}) | {"docs", "figures"} == {
        row["target"] for row in rows(workflows["ci"]["jobs"]["repository"])
    }


def test_the_repository_is_tested_with_the_pythons_that_it_takes(
    root: Path, workflows: dict[str, dict[Any, Any]]
) -> None:
    (oldest, after) = re.findall(r"\((3, \d+)\)", (root / "Makefile").read_text())
    first, last = int(oldest.split(", ")[1]), int(after.split(", ")[1])
    tested = {row["python"] for row in rows(workflows["ci"]["jobs"]["repository"]) if row["target"] == "test"}
    assert tested == {f"3.{minor}" for minor in range(first, last)}


def test_the_library_is_tested_with_every_pair_of_the_matrix(
    root: Path, workflows: dict[str, dict[Any, Any]], project: dict[str, Any]
) -> None:
    repository, library = (rows(workflows["ci"]["jobs"][name]) for name in ("repository", "library"))
    script = (root / "tests" / "packaging" / "check_matrix.py").read_text()
    (literal,) = re.findall(r"^PYTHONS = (\{.*?^\})", script, re.M | re.S)
    matrix: dict[str, tuple[str, ...]] = ast.literal_eval(literal)
    pairs = [(row["python"], row["torch"]) for row in library if "torch" in row]
    assert pairs == [(python, torch) for torch, pythons in matrix.items() for python in pythons]
    (other,) = (row for row in library if "torch" not in row)
    assert other["os"] != workflows["ci"]["jobs"]["repository"]["runs-on"]
    assert other["python"] in {row["python"] for row in repository if row["target"] == "wheel"}

    pythons = {python for python, _ in pairs}
    assert SpecifierSet(project["requires-python"]) == SpecifierSet(f">={min(pythons, key=Version)}")
    (torch,) = (Requirement(text) for text in project["dependencies"])
    (pinned,) = re.findall(r"^torch==(.*)$", (root / "requirements.txt").read_text(), re.M)
    oldest, *_, newest = sorted(matrix, key=Version)
    assert torch.specifier == SpecifierSet(f">={'.'.join(oldest.split('.')[:2])}")
    assert Version(oldest) < Version(pinned) < Version(newest)
