from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def pages(root: Path) -> list[Path]:
    """Every page for readers but the changelog, which names things that are gone."""
    at_the_root = [page for page in sorted(root.glob("*.md")) if page.name != "CHANGELOG.md"]
    return [*at_the_root, root / "results" / "README.md", *sorted((root / "docs").glob("*.md"))]
