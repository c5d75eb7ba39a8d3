"""What the PyTorch Ecosystem asks a project to have is there, and readers find it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

LINKED = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "GOVERNANCE.md",
    "SECURITY.md",
    "docs/releasing.md",
)
FORMS = {"bug.yml", "new_method.yml", "question.yml"}
KINDS = {"checkboxes", "dropdown", "input", "markdown", "textarea"}
"""What a form of an issue may consist of."""


@pytest.mark.parametrize("name", LINKED)
def test_the_file_is_there_and_linked_from_a_front_page(root: Path, name: str) -> None:
    assert (root / name).read_text().strip()
    targets = set()
    for front in (root / "README.md", root / "docs" / "README.md"):
        links = re.findall(r"\]\((?!https?:)([^)\s#]+)", front.read_text())
        targets |= {(front.parent / link).resolve() for link in links}
    assert name == "README.md" or root / name in targets


def test_forms_of_issues_are_whole(root: Path) -> None:
    folder = root / ".github" / "ISSUE_TEMPLATE"
    assert {path.name for path in folder.iterdir()} == FORMS
    for path in folder.iterdir():
        form = yaml.safe_load(path.read_text())
        assert form.keys() >= {"name", "description", "body"}, path.name
        assert {part["type"] for part in form["body"]} <= KINDS
        labels = [part["attributes"]["label"] for part in form["body"]]
        assert len(set(labels)) == len(labels) > 1
        assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_what_a_pull_request_is_asked_is_what_there_is(root: Path) -> None:
    template = (root / ".github" / "pull_request_template.md").read_text()
    makefile = (root / "Makefile").read_text()
    targets = re.findall(r"`make ([\w-]+)`", template)
    assert {"lint", "test"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    assert (root / ".github" / "CODEOWNERS").exists()
