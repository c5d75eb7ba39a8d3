"""``--workers`` and ``--cluster`` of the scripts that do jobs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lab.runs.pool.cluster.options import load_cluster
from lab.runs.pool.jobs import Place


def add_places(parser: ArgumentParser, n_workers: int) -> None:
    """Add both options; ``n_workers`` is the default of the first."""
    parser.add_argument(
        "--workers", type=int, default=n_workers, help=f"processes here, one core each (default: {n_workers})"
    )
    parser.add_argument(
        "--cluster",
        default="local",
        help="local (the default), slurm, or the path of a file like conf/cluster/slurm.yaml",
    )


def chosen_place(arguments: Namespace, folder: Path) -> Place:
    """What they say.

    Args:
        arguments: with both.
        folder: where everything is written, which a cluster's nodes must see.

    Raises:
        UserError: no such cluster.
    """
    if arguments.cluster == "local":
        workers: int = arguments.workers
        return workers
    return load_cluster(arguments.cluster, folder / "cluster")
