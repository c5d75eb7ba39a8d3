"""Jobs in the queue of a real Slurm: see slurm.sh, which sets one up."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

from ilc.errors import UserError
from lab.machine.stop_signals import STOPPED
from lab.runs.pool.cluster.options import load_cluster
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import run_jobs

pytestmark = pytest.mark.slurm

TOY = Path(__file__).parents[1] / "runs" / "toy"
Begin = Callable[..., "subprocess.Popen[str]"]


def test_an_array_with_a_failure_a_time_out_and_a_cancelled_job(
    slurm: Any, until: Any, cluster_file: Path, toy_jobs: ModuleType, tmp_path: Path
) -> None:
    calls: dict[str, Any] = {
        "cancelled": partial(toy_jobs.hold, tmp_path / "held"),
        "second": partial(toy_jobs.step_unless_begun, tmp_path / "second"),
        "fine": partial(toy_jobs.describe_process, "e"),
        "refused": partial(toy_jobs.refuse, "bread"),
        "killed": toy_jobs.be_killed,
    }
    jobs = [Job(name, call, tmp_path / f"{name}.log") for name, call in calls.items()]
    cluster = load_cluster(str(cluster_file), tmp_path / "sent")
    results: dict[str, Any] = {}
    thread = Thread(target=lambda: results.update(run_jobs(jobs, cluster)), daemon=True)
    thread.start()
    until(lambda: len(list(tmp_path.glob("*/held"))) == 2)
    numbers = sorted(slurm.jobs())
    assert {number.split("_")[0] for number in numbers} == {numbers[0].split("_")[0]}  # One array.
    # What Slurm sends when the time is nearly over.
    array = numbers[0].split("_")[0]
    with subprocess.Popen(["scancel", "--signal=USR2", f"{array}_1"]) as telling:
        until(lambda: "Restarts=1" in slurm.about(f"{array}_1"))
        telling.kill()  # It would wait for an answer from a job that has been requeued.
    slurm("scancel", f"{array}_0")
    until(lambda: not thread.is_alive())
    assert results["second"] == "done the second time"
    assert results["fine"][0] == "e"
    assert str(results["refused"]) == "no bread today"
    for name in ("cancelled", "killed"):
        assert isinstance(results[name], UserError)
        named = (
            f"the job was cancelled or killed, perhaps because memory was short: see {tmp_path / name}.log"
        )
        assert named in str(results[name])


STUDY = """
about: Twelve runs
cost: seconds
steps:
  - runs:
      fixed: ["hydra.searchpath=[file://{toy}/conf]", experiment=slow_toy, device=cpu,
        pause=0.1, broken=4-9, mended={mended}]
      overrides: [["seed=range(0,12)"]]
      to: toy/twelve
"""


def test_a_study_with_failures_and_preemption_goes_on_to_its_end(
    slurm: Any, until: Any, begin: Begin, tmp_path: Path
) -> None:
    study, mended, out, results = (tmp_path / name for name in ("twelve.yaml", "mended", "out", "results"))
    study.write_text(STUDY.format(toy=TOY, mended=mended))
    arguments = ["study", str(study), "--output", str(out), "--results", str(results)]
    runs = out / "runs" / "slow_toy"

    def under_way() -> list[Path]:
        metrics = [path for path in runs.glob("*/metrics.jsonl") if path.read_text().count("\n") >= 3]
        return [path.parent for path in metrics if not path.with_name("done").exists()]

    process = begin(*arguments)
    preempted = until(lambda: len(under_way()) == 2 and under_way())
    # Something more urgent takes the whole node.
    slurm("sbatch", "--partition=urgent", "--ntasks=2", "--mem=10", "--output=/dev/null", "--wrap=sleep 1")
    until(lambda: process.poll() is not None)
    output, errors = process.communicate()
    assert process.returncode == 1, output + errors
    assert len(list(runs.glob("*/done"))) == 10
    named = [line for line in errors.splitlines() if "something is broken (log: " in line]
    assert len(named) == 2
    assert "2 of 12 jobs failed:" in errors
    for line in named:
        assert "something is broken" in Path(line.split("(log: ")[1][:-1]).read_text()
    for run in preempted:
        assert "continuing after epoch" in (run / "log.txt").read_text()
        assert [
            json.loads(line)["epoch"] for line in (run / "metrics.jsonl").read_text().splitlines()
        ] == list(range(1, 31))

    mended.touch()
    process = begin(*arguments)
    until(lambda: process.poll() is not None)
    output, errors = process.communicate()
    assert process.returncode == 0, output + errors
    assert len((results / "toy" / "twelve_runs.csv").read_text().splitlines()) == 13


def test_killed_its_jobs_go_on_and_interrupted_they_are_cancelled(
    slurm: Any, until: Any, begin: Begin, tmp_path: Path
) -> None:
    place = f"hydra.searchpath=[file://{TOY}/conf]"
    options = [place, "experiment=slow_toy", "device=cpu", "seed=0,1", "pause=1"]
    arguments = ["run_many", *options, "--output", str(tmp_path / "out")]
    submitted = tmp_path / "out" / "cluster" / "submitted.json"

    process = begin(*arguments)
    until(submitted.exists)
    process.kill()
    process.communicate()
    before = set(slurm.jobs())
    assert len(before) == 2
    sent = submitted.stat().st_mtime_ns
    process = begin(*arguments)
    begun = tmp_path / "out" / "slow_toy"
    until(lambda: len(list(begun.glob("*/metrics.jsonl"))) == 2)
    until(lambda: submitted.stat().st_mtime_ns > sent)
    assert set(slurm.jobs()) == before  # Taken up, not sent again.
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == STOPPED, output + errors
    assert not slurm.jobs()
    for log in begun.glob("*/log.txt"):
        assert "Stopped by SIGTERM after epoch" in log.read_text()

    process = begin(*arguments)
    until(lambda: process.poll() is not None)
    assert f"\n2 of 2 runs are done, under {tmp_path / 'out'}\n" in process.communicate()[0]
    for log in begun.glob("*/log.txt"):
        assert "continuing after epoch" in log.read_text()


SEARCH = """
fixed: ["hydra.searchpath=[file://{toy}/conf]", experiment=slow_toy, pause=0, device=cpu]
space: {{lr: {{log_uniform: [1.0e-3, 1.0e-1]}}}}
objective: {{test/loss: minimize}}
selection: last
trials: 3
"""


def test_a_search_asks_here_and_trains_there(until: Any, begin: Begin, tmp_path: Path) -> None:
    path, output = tmp_path / "slow.yaml", tmp_path / "search"
    path.write_text(SEARCH.format(toy=TOY))
    process = begin("search", str(path), "--output", str(output))
    until(lambda: process.poll() is not None)
    shown, errors = process.communicate()
    assert process.returncode == 0, shown + errors
    assert "slow: 3 complete" in shown
    assert len(list((output / "cluster").glob("*_result.pkl"))) == 3
