from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The plain loop is a module of this folder.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def plain_torchvision() -> None:
    """Imported first, because transformers and torchmetrics import it where it is installed."""
    from lab.machine.torchvision_import import import_torchvision

    import_torchvision()
