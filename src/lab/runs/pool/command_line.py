"""The options ``--workers`` and ``--cluster`` of the scripts that do many jobs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lab.runs.pool.cluster.options import load_cluster
from lab.runs.pool.jobs import WorkersOrCluster


def add_workers_options(parser: ArgumentParser, n_workers: int) -> None:
    """Add the options ``--workers``, with the default ``n_workers``, and ``--cluster``."""
    parser.add_argument(
        "--workers", type=int, default=n_workers, help=f"processes here, one core each (default: {n_workers})"
    )
    parser.add_argument(
        "--cluster",
        default="local",
        help="local (the default), slurm, or the path of a file like conf/cluster/slurm.yaml",
    )


def chosen_workers(arguments: Namespace, folder: Path) -> WorkersOrCluster:
    """The workers or the cluster that the options choose.

    Args:
        arguments: the command line, with both options.
        folder: the folder for all files; the nodes of a cluster must see it at the same path.

    Raises:
        UserError: there is no such cluster.
    """
    if arguments.cluster == "local":
        workers: int = arguments.workers
        return workers
    return load_cluster(arguments.cluster, folder / "cluster")
