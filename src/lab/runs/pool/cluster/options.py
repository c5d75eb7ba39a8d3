"""The options of a cluster, and of each job on it: a file in ``conf/cluster/``, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.groups import CONF
from lab.configuration.keys import check_keys

FOLDER = CONF / "cluster"
EXECUTORS = ("slurm", "local")


@dataclass(frozen=True)
class Cluster:
    """A cluster that does jobs.

    Attributes:
        folder: the folder of the jobs and their results; the nodes must see it at the same path.
        executor: ``slurm``; or ``local`` for processes of submitit on this machine, to try things out.
        partition: the partition of Slurm; None for the default one.
        timeout_min: minutes after which a job is put into the queue again, to continue its run folder.
        signal_delay_s: seconds between the warning signal and the end of the job.
        max_timeouts: how often one job may run out of time.
        cpus_per_task, gpus_per_node, mem_gb: the resources of each job.
        array_parallelism: the number of jobs at a time; in a search, the number of trials at a time.
        setup: shell commands that run before each job.
        sbatch: further options of ``sbatch``.

    Raises:
        UserError: there is no such executor, or a number is too small.
    """

    folder: Path
    executor: str
    partition: str | None
    timeout_min: float
    signal_delay_s: int
    max_timeouts: int
    cpus_per_task: int
    gpus_per_node: int
    mem_gb: float
    array_parallelism: int
    setup: tuple[str, ...]
    sbatch: dict[str, Any]

    def __post_init__(self) -> None:
        if self.executor not in EXECUTORS:
            raise UserError(f"cluster: executor must be one of {', '.join(EXECUTORS)}, got {self.executor!r}")
        for key, least in (("timeout_min", 0), ("mem_gb", 0), ("signal_delay_s", 0), ("max_timeouts", 0),
                           ("gpus_per_node", 0), ("cpus_per_task", 1), ("array_parallelism", 1)):  # fmt: skip
            number = getattr(self, key)
            kinds = (int, float) if key in ("timeout_min", "mem_gb") else int
            if isinstance(number, bool) or not isinstance(number, kinds) or number < least:
                raise UserError(f"cluster: {key} must be a number of at least {least}, got {number!r}")


def load_cluster(name: str, folder: Path) -> Cluster:
    """Read ``conf/cluster/NAME.yaml``, or the file itself when the name ends in ``.yaml``.

    Args:
        name: the name or the path of the file.
        folder: the folder of the jobs and their results.

    Raises:
        UserError: there is no such file, a key is unknown or missing, or a value is refused.
    """
    path = Path(name) if name.endswith(".yaml") else FOLDER / f"{name}.yaml"
    if not path.exists():
        if name.endswith(".yaml"):
            raise UserError(f"there is no file {name}: give the path of a file that describes the cluster")
        known = ", ".join(["local", *sorted(file.stem for file in FOLDER.glob("*.yaml"))])
        raise UserError(
            f"no cluster is called {name!r}: choose one of {known}, or give the path of a file that ends in "
            ".yaml"
        )
    try:
        values = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    keys = [field.name for field in fields(Cluster) if field.name != "folder"]
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold the keys {', '.join(keys)}")
    check_keys("", values, keys)
    missing = [key for key in keys if key not in values]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}")
    for key, kind, words in (
        ("setup", list, "a list of commands"),
        ("sbatch", dict, "a section of option: value"),
    ):
        if not isinstance(values[key], kind):
            raise UserError(f"{path}: {key} must be {words}, got {values[key]!r}")
    options = {str(key): value for key, value in values.items()}
    return Cluster(folder.resolve(), **{**options, "setup": tuple(map(str, options["setup"]))})
