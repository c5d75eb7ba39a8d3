from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import pytest

T = TypeVar("T")
TOY = Path(__file__).parent / "toy"


@pytest.fixture
def toy_jobs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Functions that workers can import, which those of a test file are not."""
    monkeypatch.syspath_prepend(TOY)
    return importlib.import_module("toy_jobs")


@pytest.fixture
def script(root: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script to its end, in a process of its own."""

    def command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        # A run in this process sets it, and its children would show tracebacks.
        environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}
        return subprocess.run(
            [sys.executable, str(root / "scripts" / f"{name}.py"), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
        )

    return command


@pytest.fixture
def wait_for() -> Callable[[Callable[[], T | None]], T]:
    """Waits until what it is given finds something, and returns that."""

    def waiting(look: Callable[[], T | None]) -> T:
        for _ in range(600):
            found = look()
            if found is not None:
                return found
            time.sleep(0.1)
        raise AssertionError("waited a minute for nothing")

    return waiting
