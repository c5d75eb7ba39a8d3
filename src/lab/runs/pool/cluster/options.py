"""Which cluster, and what a job may use there: a file under ``conf/cluster/``, read and checked."""

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
    """Where jobs go.

    Attributes:
        folder: for what is sent and comes back; the nodes must see it at the same path.
        executor: ``slurm``, or ``local``: submitit's own processes on this machine, to try things out.
        partition: of Slurm; None for its default.
        timeout_min: minutes after which a job is requeued; it continues its run folder.
        signal_delay_s: seconds between the signal that says so and the end.
        max_timeouts: how often that may happen to one job.
        cpus_per_task, gpus_per_node, mem_gb: what each job may use.
        array_parallelism: how many jobs at a time; of a search, how many trials.
        setup: shell commands before each job.
        sbatch: further options of ``sbatch``.

    Raises:
        UserError: no such executor, or a number below its least.
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
        name: of the file.
        folder: as ``Cluster``.

    Raises:
        UserError: no such file, a key that is unknown or missing, or as ``Cluster``.
    """
    path = Path(name) if name.endswith(".yaml") else FOLDER / f"{name}.yaml"
    if not path.exists():
        known = ", ".join(["local", *sorted(file.stem for file in FOLDER.glob("*.yaml"))])
        raise UserError(f"no cluster is called {name!r}: there are {known}. A file of your own ends in .yaml")
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
    for key, kind, words in (("setup", list, "a list of commands"), ("sbatch", dict, "option: value")):
        if not isinstance(values[key], kind):
            raise UserError(f"{path}: {key} must be {words}, got {values[key]!r}")
    options = {str(key): value for key, value in values.items()}
    return Cluster(folder.resolve(), **{**options, "setup": tuple(map(str, options["setup"]))})
