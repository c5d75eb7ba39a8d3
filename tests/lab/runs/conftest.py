from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
import torch

from ilc.errors import UserError
from lab.runs.pool import jobs
from lab.runs.pool.job import Job

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
        for _ in range(1800):
            found = look()
            if found is not None:
                return found
            time.sleep(0.1)
        raise AssertionError("waited three minutes for nothing")

    return waiting


class InThisProcess:
    """Stands in for ``Workers``, which would have to load torch once more."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._jobs: list[Job[Any]] = []

    def __class_getitem__(cls, kind: object) -> type[InThisProcess]:
        return cls

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None: ...

    @property
    def n_busy(self) -> int:
        return len(self._jobs)

    @property
    def has_room(self) -> bool:
        return self.n_busy < self._n

    @property
    def queues(self) -> bool:
        return False

    def start(self, job: Job[Any]) -> None:
        self._jobs.append(job)

    def wait(self, seconds: float | None = None) -> list[tuple[str, Any]]:
        job = self._jobs.pop()  # The youngest, as when it is the quickest.
        try:
            return [(job.name, job.call())]
        except UserError as error:
            return [(job.name, error)]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Jobs are done without workers; torch is left as it was."""
    monkeypatch.setattr(jobs, "Workers", InThisProcess)
    yield
    torch.use_deterministic_algorithms(False)
