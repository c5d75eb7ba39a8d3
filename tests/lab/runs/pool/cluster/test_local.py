"""Jobs through submitit's processes on this machine, which behave as Slurm's jobs do."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
import submitit

from ilc.errors import UserError
from lab.runs.pool.cluster.options import Cluster, load_cluster
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import open_pool, run_jobs

MakeCluster = Callable[..., Cluster]


def test_jobs_return_fail_and_print_as_in_workers(
    cluster: MakeCluster, toy_jobs: ModuleType, tmp_path: Path
) -> None:
    calls: dict[str, Any] = {
        "fine": partial(toy_jobs.describe_process, "e"),
        "refused": partial(toy_jobs.refuse, "bread"),
        "killed": toy_jobs.be_killed,
    }
    jobs = [Job(name, call, tmp_path / name / "log.txt") for name, call in calls.items()]
    results = dict(run_jobs(jobs, cluster()))
    assert results.keys() == calls.keys()
    word, process = results["fine"]
    assert word == "e"
    assert process != os.getpid()
    assert (tmp_path / "fine" / "log.txt").read_text() == "said e\nshouted e\n"
    assert str(results["refused"]) == "no bread today"
    assert isinstance(results["killed"], UserError)
    assert "the job was cancelled or killed, perhaps because memory was short: see " in str(results["killed"])
    assert str(tmp_path / "killed" / "log.txt") in str(results["killed"])


def test_a_job_that_times_out_finishes_its_step_and_is_begun_again_and_not_forever(
    cluster: MakeCluster, toy_jobs: ModuleType, tmp_path: Path
) -> None:
    """Told as by Slurm, but as soon as it has begun."""
    short = cluster(
        timeout_min=9, max_timeouts=1
    )  # So short that submitit takes every signal for a time-out.
    jobs = [
        Job("second", partial(toy_jobs.step_unless_begun, tmp_path / "a"), tmp_path / "a.log"),
        Job("never", partial(toy_jobs.hold, tmp_path / "b"), tmp_path / "b.log"),
    ]
    told = [Thread(target=tell, args=(tmp_path / "a", 1)), Thread(target=tell, args=(tmp_path / "b", 2))]
    for thread in told:
        thread.start()
    results = dict(run_jobs(jobs, short))
    for thread in told:
        thread.join()
    assert results["second"] == "done the second time"
    assert "the job timed out too often: see " in str(results["never"])


def tell(folder: Path, times: int) -> None:
    """Send the signal to whoever holds the folder, each time that somebody else does."""
    known: set[str] = set()
    for _ in range(2000):
        held = folder / "held"
        holder = held.read_text() if held.exists() else ""
        if holder and holder not in known:
            os.kill(int(holder), signal.SIGUSR2)
            known.add(holder)
        if len(known) == times:
            return
        time.sleep(0.1)


def test_a_defect_is_ours_and_ends_the_others(
    cluster: MakeCluster, toy_jobs: ModuleType, wait_for: Any, tmp_path: Path
) -> None:
    with (
        pytest.raises(RuntimeError, match=r"defect failed(.|\n)*ZeroDivisionError: a defect"),
        closing(
            run_jobs(
                [
                    Job("held", partial(toy_jobs.hold, tmp_path), tmp_path / "log"),
                    Job("defect", partial(toy_jobs.break_down_after, tmp_path / "held"), tmp_path / "log"),
                ],
                cluster(),
            )
        ) as ended,
    ):
        list(ended)
    os.close(wait_for(partial(toy_jobs.lock, tmp_path)))  # Its holder goes.


@pytest.mark.slow
def test_the_scripts_run_there(
    cluster_file: Callable[..., Path], script: Any, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    options = [option for option in tiny if option != "logger=none"]
    runs = [*options, "aggregator=mean", "optimizer.lr=1e-3,1e30", "--output", str(tmp_path / "out")]
    done = script("run_many", *runs, "--cluster", str(cluster_file()))
    assert done.returncode == 1
    assert "1 of 2 runs are done" in done.stdout
    assert "Error: 1 runs failed:\n  " in done.stderr
    (log,) = [line.split("(log: ")[1][:-1] for line in done.stderr.splitlines() if "(log: " in line]
    assert "diverged" in Path(log).read_text() + done.stderr


SEARCH = """
fixed: [experiment=spirals, aggregator=mean, {tiny}]
space: {{optimizer.lr: {{choice: [1.0e-3, 1.0e-2]}}}}
objective: {{test/accuracy: maximize}}
selection: last
trials: 2
"""


@pytest.mark.slow
def test_a_search_asks_here_and_trains_there(
    cluster_file: Callable[..., Path], script: Any, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(SEARCH.format(tiny=", ".join(option for option in tiny if option != "logger=none")))
    output = tmp_path / "search"
    done = script("search", str(path), "--output", str(output), "--cluster", str(cluster_file()))
    assert done.returncode == 0, done.stderr
    assert "tiny: 2 complete" in done.stdout
    assert len(list((output / "cluster").glob("*_result.pkl"))) >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": "pbs"}, "executor must be one of slurm, local, got 'pbs'"),
        ({"array_parallelism": 0}, "array_parallelism must be a number of at least 1, got 0"),
        ({"partitoin": "gpu"}, "unknown key 'partitoin'. Did you mean 'partition'"),
        ({"setup": "module load x"}, "setup must be a list of commands"),
    ],
)
def test_mistakes_are_readable(options: dict[str, Any], message: str, cluster: MakeCluster) -> None:
    with pytest.raises(UserError, match=message):
        cluster(**options)


def test_an_unknown_cluster_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no file nope\.yaml"):
        load_cluster("nope.yaml", tmp_path)
    with pytest.raises(UserError, match="no cluster is called 'slrum': choose one of local, slurm"):
        load_cluster("slrum", tmp_path)


def test_without_slurm_it_says_so(
    cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="--cluster slurm needs Slurm's sbatch"):
        open_pool(cluster(executor="slurm"))


class Planted:
    """What somebody may put into a folder as a job's result: reading it runs code."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_results_that_were_there_before_are_not_read(
    cluster: MakeCluster, toy_jobs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = cluster()
    place.folder.mkdir(parents=True)
    planted = pickle.dumps(("success", Planted(tmp_path / "ran")))
    submit = submitit.LocalExecutor.submit_array
    # Here the number is the process's; of a queue it can be guessed.
    (place.folder / "1_0_result.pkl").write_bytes(planted)
    left = []

    def submit_array(executor: Any, calls: Any) -> Any:
        left.extend(place.folder.glob("*_result.pkl"))
        return submit(executor, calls)

    monkeypatch.setattr(submitit.LocalExecutor, "submit_array", submit_array)
    results = dict(run_jobs([Job("fine", partial(toy_jobs.describe_process, "e"), tmp_path / "log")], place))
    assert results["fine"][0] == "e"
    assert left == []
    assert not (tmp_path / "ran").exists()
