"""Jobs that are given to the queue of a cluster, as arrays, and their results.

A command that is interrupted takes its jobs out of the queue. A command that is killed cannot do so: its
jobs go on, and the same command later finds those that are still under way.
"""

from __future__ import annotations

import json
import shutil
import time
from types import TracebackType
from typing import Generic, Self, TypeVar

from ilc._extras import install_command
from ilc.errors import UserError
from lab.files.atomic import write_json
from lab.machine.stop_signals import stop_if_requested
from lab.runs.pool.cluster.options import Cluster
from lab.runs.pool.cluster.queue import cancel, queued
from lab.runs.pool.job import Job

try:
    import submitit
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    from lab.runs.pool.cluster.remote import RemoteJob
except ImportError as error:
    raise UserError(
        f"--cluster needs submitit, which is not installed: run {install_command('cluster')}"
    ) from error

T = TypeVar("T")

LARGEST_ARRAY = 1000
"""The largest array of jobs. By default Slurm allows 1001 jobs in one array (``MaxArraySize``)."""

SUBMITTED = "submitted.json"
"""File in the cluster's folder: the log of a job -> its number in the queue."""

LOOK, ASK = 0.5, 5.0
"""Seconds between two looks for files with results, and between two questions to the queue."""


class ClusterPool(Generic[T]):
    """A ``Pool`` whose jobs run on the nodes of a cluster.

    Raises:
        UserError: submitit or Slurm is not installed.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting: list[Job[T]] = []
        self._busy: dict[str, tuple[Job[T], submitit.Job[bytes]]] = {}
        self._absent: set[str] = set()
        self._is_first = True
        self._asked = 0.0
        cluster.folder.mkdir(parents=True, exist_ok=True)
        self._executor = _executor(cluster)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.queues:
            cancel(self._busy.keys())
            while self._busy.keys() & (queued() or set()):  # Each job first finishes its step.
                time.sleep(LOOK)
            return
        for _, sent in self._busy.values():
            sent.cancel(check=False)
        while not all(sent.done() for _, sent in self._busy.values()):
            time.sleep(LOOK)

    @property
    def n_busy(self) -> int:
        """The number of jobs that are under way or not yet sent."""
        return len(self._waiting) + len(self._busy)

    @property
    def has_room(self) -> bool:
        """Whether another job can start at once."""
        return self.n_busy < self._cluster.array_parallelism

    @property
    def queues(self) -> bool:
        """Whether the cluster has a queue.

        Slurm has one, and limits the jobs to ``array_parallelism`` itself.
        """
        return self._cluster.executor == "slurm"

    def start(self, job: Job[T]) -> None:
        """Take a job. The jobs between two calls of ``wait`` are sent together, as one array."""
        self._waiting.append(job)

    def wait(self) -> list[tuple[str, T | UserError]]:
        """Send the new jobs, and wait until jobs have ended; see ``Pool.wait``.

        Raises:
            UserError: the cluster does not take the jobs.
            RuntimeError: a job raised another error than a UserError or an OSError.
            Stopped: a signal asked this command to stop.
        """
        self._submit()
        while self._busy:
            stop_if_requested()
            ended = (
                self._ended() if self.queues else [n for n, (_, sent) in self._busy.items() if sent.done()]
            )
            if ended:
                return [self._result(*self._busy.pop(number)) for number in ended]
            time.sleep(LOOK)
        return []

    def _submit(self) -> None:
        """Find the new jobs that are under way already, and send the others to the cluster."""
        new, self._waiting = self._waiting, []
        if not new:
            return
        if self._is_first:
            self._is_first = False
            self._forget_results()
        known = self._submitted()
        there = (queued() or set()) if known else set()
        for job in [job for job in new if known.get(str(job.log)) in there]:
            number = known[str(job.log)]
            self._busy[number] = job, submitit.SlurmJob(self._cluster.folder, number)
            new.remove(job)
        for begin in range(0, len(new), LARGEST_ARRAY):
            array = new[begin : begin + LARGEST_ARRAY]
            try:
                sent = self._executor.submit_array([RemoteJob(job.content()) for job in array])
            except (FailedJobError, FailedSubmissionError) as error:
                reason = " ".join(str(error).split()).split("Calling stack:")[0]
                raise UserError(f"the cluster refused the jobs: {reason}") from error
            self._busy.update({own.job_id: (job, own) for job, own in zip(array, sent, strict=True)})
        if self.queues:
            numbers = {str(job.log): number for number, (job, _) in self._busy.items()}
            write_json(self._cluster.folder / SUBMITTED, numbers)

    def _forget_results(self) -> None:
        """Remove the results of earlier commands. Reading a result runs code, and nobody waits for these.

        A job that has ended has left everything of value in its run folder. A job that is still in the
        queue has not written its result yet: the queue is asked only after this call.
        """
        for path in self._cluster.folder.glob("*_result.pkl"):
            path.unlink(missing_ok=True)

    def _submitted(self) -> dict[str, str]:
        path = self._cluster.folder / SUBMITTED
        if not self.queues or not path.exists():
            return {}
        try:
            numbers = json.loads(path.read_text())
            return {str(log): str(number) for log, number in numbers.items()}
        except (OSError, ValueError, AttributeError) as error:
            raise UserError(
                f"{path} is damaged ({error}): remove it. The command then does not wait for jobs that are "
                "still in the queue, so cancel them with scancel"
            ) from error

    def _ended(self) -> list[str]:
        """The jobs in Slurm that have written a result, or have left the queue without one."""
        gone = self._gone()
        # Listing the folder makes a network file system look again.
        files = {path.name for path in self._cluster.folder.iterdir()}
        return [
            number
            for number, (_, sent) in self._busy.items()
            if number in gone or sent.paths.result_pickle.name in files
        ]

    def _gone(self) -> set[str]:
        """The jobs that have left the queue."""
        if time.monotonic() - self._asked < ASK:
            return set()
        there, self._asked = queued(), time.monotonic()
        if there is None:
            return set()
        absent = self._busy.keys() - there
        # Only jobs that are absent twice count: another machine may see a new file later.
        gone, self._absent = absent & self._absent, absent
        return gone

    def _result(self, job: Job[T], sent: submitit.Job[bytes]) -> tuple[str, T | UserError]:
        logs = f"see {job.log} and {sent.paths.stderr}"
        if not sent.paths.result_pickle.exists():
            return job.name, UserError(
                f"the job was cancelled or killed, perhaps because memory was short: {logs}"
            )
        error = sent.exception()
        if error is None:
            return job.name, job.ended(sent.result())
        if "timed-out too many times" in str(error):
            return job.name, UserError(f"the job timed out too often: {logs}")
        return job.name, UserError(f"the job's node could not run it: {logs}")


def _executor(cluster: Cluster) -> submitit.Executor:
    """The executor of submitit, with the resources that a job may use."""
    executor: submitit.Executor
    if cluster.executor == "local":
        executor = submitit.LocalExecutor(cluster.folder, max_num_timeout=cluster.max_timeouts)
        executor.update_parameters(timeout_min=cluster.timeout_min, signal_delay_s=cluster.signal_delay_s)
        return executor
    if shutil.which("sbatch") is None:
        raise UserError(
            "--cluster slurm needs Slurm's sbatch, which this machine does not have: use a machine that has "
            "it"
        )
    executor = submitit.SlurmExecutor(cluster.folder, max_num_timeout=cluster.max_timeouts)
    executor.update_parameters(
        job_name="ilc",
        time=max(1, round(cluster.timeout_min)),
        cpus_per_task=cluster.cpus_per_task,
        mem=f"{round(1024 * cluster.mem_gb)}MB",
        signal_delay_s=cluster.signal_delay_s,
        array_parallelism=cluster.array_parallelism,
        setup=list(cluster.setup),
        additional_parameters=cluster.sbatch,
        **({"partition": cluster.partition} if cluster.partition else {}),
        **({"gpus_per_node": cluster.gpus_per_node} if cluster.gpus_per_node else {}),
    )
    return executor
