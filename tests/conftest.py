from __future__ import annotations

import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

ROOT = Path(__file__).parents[1]
TRAIN = str(ROOT / "src" / "train.py")

# Tests run side by side: one thread each is fastest, and repeatable.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# Started in the background by a shell, processes ignore what interrupts them, and so do all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A first call may load much; how long it takes says nothing about the code.
settings.register_profile("ilc", deadline=None)
settings.load_profile("ilc")

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Spirals small enough for a test: two seconds, most of them for importing torch.
TINY = (
    "dataset.n_environments=4",
    "dataset.examples_per_environment=32",
    "dataset.batch_size=16",
    "dataset.n_test=50",
    "model.hidden_units=16",
    "trainer.max_epochs=3",
    "logger=none",
    "device=cpu",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: whichever worker is done then takes over short ones, and none waits at the end.

    The whole runs of the default commands take minutes each, so they come before the other slow ones.
    """
    items.sort(
        key=lambda item: (item.get_closest_marker("slow") is None, item.path.stem != "test_default_commands")
    )


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(params=[1, 2**15])
def kernel_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For kernels: as many threads as PyTorch has, and one."""
    monkeypatch.setattr("ilc.kernels._compiled._VALUES_PER_THREAD", request.param)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def tiny() -> tuple[str, ...]:
    return TINY


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, where it is installed."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install 'ilc[dev]')"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        # Root, as in a container, has no sandbox to run it in; the page is our own.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path=found, args=[*options, "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def program_here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> TrainCommand:
    """Runs a file as a program in this process, which has torch loaded."""

    def command(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        monkeypatch.setattr(sys, "path", list(sys.path))
        capfd.readouterr()
        status = 0
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            torch.use_deterministic_algorithms(False)
        output, errors = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, status, output, errors)

    return command


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program_here: TrainCommand) -> TrainCommand:
    """Runs ``src/train.py`` as a program in this process, which has torch loaded; in an empty folder."""

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        return program_here(TRAIN, *arguments)

    return command


@pytest.fixture
def script_here(root: Path, program_here: TrainCommand) -> TrainCommand:
    """Runs a script in this process, which has torch loaded; for mistakes that end before training."""

    def command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return program_here(str(root / "scripts" / f"{name}.py"), *arguments)

    return command


@pytest.fixture
def train_apart(tmp_path: Path) -> TrainCommand:
    """Runs ``python src/train.py`` in a process of its own, in an empty folder."""

    def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, TRAIN, *arguments],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            **options,  # type: ignore[call-overload]
        )

    return command
