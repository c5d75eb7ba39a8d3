"""What contributors are told is what CI does, and the citation is that of this version."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import ilc


def test_pre_commit_runs_the_linters_of_make_lint(root: Path) -> None:
    (repository,) = yaml.safe_load((root / ".ci" / "pre-commit.yaml").read_text())["repos"]
    hooks = [hook["entry"].removeprefix(".venv/bin/python ") for hook in repository["hooks"]]
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", (root / "Makefile").read_text(), re.M)
    assert hooks == [line.removeprefix("\t$(RUN) ") for line in recipe.splitlines()]
    assert all(hook["language"] == "system" and not hook["pass_filenames"] for hook in repository["hooks"])


def test_the_page_names_the_file_that_is_there(root: Path) -> None:
    assert "--config .ci/pre-commit.yaml" in (root / "CONTRIBUTING.md").read_text()


def test_the_citation_is_whole_and_of_this_version(root: Path) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {"cff-version", "title", "message", "authors"} <= citation.keys()
    assert (citation["version"], citation["license"]) == (ilc.__version__, "MIT")
    paper = citation["preferred-citation"]
    readme = (root / "README.md").read_text()
    assert paper["title"] in readme
    assert all(author["family-names"] in readme for author in paper["authors"])


def test_the_changelog_has_the_groups_of_keep_a_changelog(root: Path) -> None:
    """One section per version, that of this version first; below each its groups, once and in order."""
    text = (root / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## (?:Unreleased|(\d+\.\d+\.\d+))\b", text, re.M)
    assert len(versions) == len(set(versions)) == text.count("\n## ")
    assert next(version for version in versions if version) == ilc.__version__
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for section in text.split("\n## ")[1:]:
        groups = re.findall(r"^### (.*)", section, re.M)
        assert groups == [group for group in order if group in groups]
