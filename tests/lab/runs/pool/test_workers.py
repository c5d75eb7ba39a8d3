"""Jobs in processes: what they return, how they fail, and that nothing outlives who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ilc.errors import UserError
from lab.files.locked import lock
from lab.machine.stop_signals import STOPPED
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import run_jobs
from lab.runs.pool.workers import Workers


def test_jobs_run_in_processes_of_their_own_and_print_to_their_logs(
    toy_jobs: ModuleType, tmp_path: Path
) -> None:
    words = ["a", "b", "c", "d"]
    jobs = [Job(w, partial(toy_jobs.describe_process, w), tmp_path / w / "log.txt") for w in words]
    results = dict(run_jobs(jobs, 2))
    assert {name: word for name, (word, _) in results.items()} == {word: word for word in words}
    processes = {process for _, process in results.values()}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    for word in words:
        assert (tmp_path / word / "log.txt").read_text() == f"said {word}\nshouted {word}\n"


def test_a_worker_has_one_core(toy_jobs: ModuleType, tmp_path: Path) -> None:
    threads = import_module("toy_torch_jobs").threads
    assert dict(run_jobs([Job("a", threads, tmp_path / "log")], 1)) == {"a": 1}


def test_failures_do_not_stop_the_others(toy_jobs: ModuleType, tmp_path: Path) -> None:
    calls: dict[str, Any] = {
        "refused": partial(toy_jobs.refuse, "bread"),
        "full": partial(toy_jobs.fill_the_disk, tmp_path / "x"),
        "killed": toy_jobs.be_killed,
        "asked": toy_jobs.be_asked,
        "fine": partial(toy_jobs.describe_process, "e"),
    }
    results = dict(run_jobs([Job(name, call, tmp_path / name) for name, call in calls.items()], 1))
    errors = {name: str(result) for name, result in results.items() if isinstance(result, UserError)}
    assert errors["refused"] == "no bread today"
    assert errors["full"].startswith(f"{tmp_path / 'x'}: No space left on device")
    assert "ended from outside (exit status -9" in errors["killed"]
    assert "asked to stop from outside. Run the same command again to continue" in errors["asked"]
    assert set(errors) == {"refused", "full", "killed", "asked"}
    assert results["fine"][0] == "e"
    assert "no bread today" in (tmp_path / "refused").read_text()


def test_a_defect_keeps_its_traceback_and_ends_the_workers(toy_jobs: ModuleType, tmp_path: Path) -> None:
    jobs = [
        Job("held", partial(toy_jobs.hold, tmp_path), tmp_path / "log"),
        Job("defect", toy_jobs.break_down, tmp_path / "log"),
    ]
    with pytest.raises(RuntimeError, match=r"defect failed(.|\n)*ZeroDivisionError: a defect"):
        list(run_jobs(jobs, 2))
    descriptor = lock(tmp_path)
    assert descriptor is not None  # Its holder is gone.
    os.close(descriptor)


def test_no_worker_is_an_error() -> None:
    with pytest.raises(UserError, match="--workers must be at least 1, got 0"):
        Workers[None](0)


PARENT = """
import sys
from functools import partial
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import toy_jobs
from lab.runs.pool.jobs import run_jobs
from lab.runs.pool.job import Job
from lab.machine.stop_signals import listening
if __name__ == "__main__":
    folders = [Path(sys.argv[1]) / "a", Path(sys.argv[1]) / "b"]
    calls = [partial(getattr(toy_jobs, sys.argv[3]), folder) for folder in folders]
    with listening():
        list(run_jobs([Job(f.name, call, f.with_suffix(".log")) for f, call in zip(folders, calls)], 2))
"""


@pytest.fixture
def begin(root: Path, wait_for: Any, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a command with two workers that call this function of the toy jobs, in a session of its own."""
    begun = []

    def start(function: str) -> subprocess.Popen[str]:
        (tmp_path / "parent.py").write_text(PARENT)
        toy = str(Path(__file__).parents[1] / "toy")
        command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path), toy, function]
        for folder in folders_of(tmp_path):
            folder.mkdir()
        begun.append(
            subprocess.Popen(
                command,
                env=os.environ | {"PYTHONPATH": str(root / "src")},
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        wait_for(lambda: all((folder / "held").exists() for folder in folders_of(tmp_path)) or None)
        return begun[-1]

    yield start
    for process in begun:
        process.communicate()


def folders_of(path: Path) -> list[Path]:
    return [path / "a", path / "b"]


def test_workers_die_with_a_parent_that_is_killed(begin: Any, wait_for: Any, tmp_path: Path) -> None:
    parent = begin("hold")
    assert [lock(folder) for folder in folders_of(tmp_path)] == [None, None]
    parent.kill()
    began = time.monotonic()
    for folder in folders_of(tmp_path):
        os.close(wait_for(partial(lock, folder)))
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("terminal", "job"), [(True, "step_until_asked"), (False, "step_until_asked"), (False, "end_when_asked")]
)
def test_asked_to_stop_workers_finish_their_step_first(
    terminal: bool, job: str, begin: Any, tmp_path: Path
) -> None:
    """A terminal's Ctrl-C reaches every process, SIGTERM the parent alone: both are heeded once."""
    parent = begin(job)
    if terminal:
        os.killpg(parent.pid, signal.SIGINT)
    else:
        parent.terminate()
    errors = parent.communicate(timeout=60)[1]
    assert parent.returncode == STOPPED
    assert (
        errors
        == f"Stopped by {'SIGINT' if terminal else 'SIGTERM'}: run the same command again to continue\n"
    )
    assert all((folder / "checkpoint").exists() for folder in folders_of(tmp_path))


def test_asked_twice_everything_ends_at_once(begin: Any, wait_for: Any, tmp_path: Path) -> None:
    parent = begin("be_deaf")
    parent.terminate()
    time.sleep(1.5)
    assert parent.poll() is None
    assert [lock(folder) for folder in folders_of(tmp_path)] == [None, None]
    parent.terminate()
    assert parent.wait(10) == -signal.SIGTERM
    for folder in folders_of(tmp_path):
        os.close(wait_for(partial(lock, folder)))
