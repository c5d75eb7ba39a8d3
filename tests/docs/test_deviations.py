"""The list of deviations is whole: what the code marks is listed, what is listed exists."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_deviation_in_the_code_is_listed(root: Path) -> None:
    listed = (root / "docs" / "deviations.md").read_text()
    marked = [
        path.relative_to(root).as_posix()
        for folder, kind in (("src", "*.py"), ("scripts", "*.py"), ("conf", "*.yaml"))
        for path in sorted((root / folder).rglob(kind))
        if "Deviation:" in path.read_text()
    ]
    assert len(marked) > 10
    assert not [path for path in marked if f"`{path}`" not in listed]


def test_every_file_listed_exists(root: Path) -> None:
    listed = re.findall(r"`((?:src|conf|scripts)/[^`]+)`", (root / "docs" / "deviations.md").read_text())
    assert listed
    assert not [path for path in listed if not any(root.glob(path))]
