from __future__ import annotations

from pathlib import Path

import pytest

from docs.page_text import page_text


@pytest.fixture(scope="module")
def text(root: Path, request: pytest.FixtureRequest) -> str:
    """The prose of the page of the experiment whose tests ask, or of the page that their ``PAGE`` names."""
    return page_text(root, getattr(request.module, "PAGE", request.path.parent.name))
