from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from omegaconf import OmegaConf

TOY = Path(__file__).parents[1] / "runs" / "toy"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests fill a cluster: they take none but the one that ``slurm.sh`` makes for them."""
    if "ILC_TEST_SLURM" in os.environ:
        return
    for item in items:
        if item.get_closest_marker("slurm"):
            item.add_marker(pytest.mark.skip(reason="needs a Slurm: tests/lab/cluster/slurm.sh sets one up"))


class Slurm:
    """Slurm's own commands."""

    def __call__(self, *command: str) -> str:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """Number -> state of all jobs that have not ended."""
        lines = self("squeue", "--array", "--noheader", "--format=%i %T").splitlines()
        return dict(line.split() for line in lines)

    def about(self, number: str) -> str:
        """What Slurm knows of a job; nothing when it has just ended."""
        command = ["scontrol", "show", "job", number]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout

    def hurry(self) -> None:
        """Start requeued jobs at once, which would wait for two minutes."""
        for number, state in self.jobs().items():
            if state == "PENDING" and "Restarts=0" not in self.about(number):
                command = ["scontrol", "update", f"JobId={number}", "StartTime=now"]
                subprocess.run(command, check=False, capture_output=True)


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    """Slurm, with an empty queue before and after."""
    yield Slurm()
    subprocess.run(["scancel", "--me"], check=True)
    while Slurm().jobs():
        time.sleep(0.2)


@pytest.fixture
def until(slurm: Slurm) -> Callable[[Callable[[], Any]], Any]:
    """Waits until something is true, and lets requeued jobs start meanwhile."""

    def wait(look: Callable[[], Any]) -> Any:
        for _ in range(2400):
            found = look()
            if found:
                return found
            slurm.hurry()
            time.sleep(0.25)
        raise AssertionError(f"waited minutes for nothing; the queue: {slurm.jobs()}")

    return wait


@pytest.fixture
def cluster_file(root: Path, tmp_path: Path) -> Path:
    """A cluster like the committed one, with jobs as small as the node."""
    path = tmp_path / "own_cluster.yaml"
    own = {"partition": "tests", "mem_gb": 0.3, "timeout_min": 2, "signal_delay_s": 10}
    OmegaConf.save(OmegaConf.merge(OmegaConf.load(root / "conf" / "cluster" / "slurm.yaml"), own), path)
    return path


@pytest.fixture
def toy_jobs(monkeypatch: pytest.MonkeyPatch, root: Path) -> ModuleType:
    """Functions that the node's jobs find too."""
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root / "src"), str(TOY)]))
    import toy_jobs

    return toy_jobs  # type: ignore[no-any-return]


@pytest.fixture
def begin(root: Path, cluster_file: Path, toy_jobs: ModuleType) -> Callable[..., subprocess.Popen[str]]:
    """Starts a script that gives its jobs to Slurm."""

    def start(script: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(root / "scripts" / f"{script}.py"), *arguments]
        environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}
        return subprocess.Popen(
            [*command, "--cluster", str(cluster_file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    return start
