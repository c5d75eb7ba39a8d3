"""Jobs in processes: what they return, how they fail, and that nothing outlives who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ilc.errors import UserError
from ilc.locked import lock
from ilc.runs.jobs import run_jobs
from ilc.runs.workers import Job, Workers


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
        "fine": partial(toy_jobs.describe_process, "e"),
    }
    results = dict(run_jobs([Job(name, call, tmp_path / name) for name, call in calls.items()], 1))
    errors = {name: str(result) for name, result in results.items() if isinstance(result, UserError)}
    assert errors["refused"] == "no bread today"
    assert errors["full"].startswith(f"{tmp_path / 'x'}: No space left on device")
    assert "ended from outside (exit status -9" in errors["killed"]
    assert set(errors) == {"refused", "full", "killed"}
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
from importlib import import_module
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from toy_jobs import hold
from ilc.runs.jobs import run_jobs
from ilc.runs.workers import Job
if __name__ == "__main__":
    folders = [Path(sys.argv[1]) / "a", Path(sys.argv[1]) / "b"]
    list(run_jobs([Job(f.name, partial(hold, f), f.with_suffix(".log")) for f in folders], 2))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_die_with_their_parent(
    how: signal.Signals, root: Path, wait_for: Any, tmp_path: Path
) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    toy = str(Path(__file__).parent / "toy")
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path), toy]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as parent:
        folders = [tmp_path / "a", tmp_path / "b"]
        wait_for(lambda: True if all((folder / "held").exists() for folder in folders) else None)
        assert [lock(folder) for folder in folders] == [None, None]
        parent.send_signal(how)
    began = time.monotonic()
    for folder in folders:
        os.close(wait_for(partial(lock, folder)))
    assert time.monotonic() - began < 10
