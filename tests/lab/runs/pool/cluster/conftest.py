from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from lab.runs.pool.cluster.options import FOLDER, Cluster, load_cluster

TOY = Path(__file__).parents[2] / "toy"
MakeCluster = Callable[..., Cluster]


@pytest.fixture
def cluster_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a cluster like Slurm's, of submitit's local processes unless told otherwise."""

    def write(**options: object) -> Path:
        own = {"executor": "local", "array_parallelism": 2, "mem_gb": 0.5, **options}
        path = tmp_path / "own_cluster.yaml"
        OmegaConf.save(OmegaConf.merge(OmegaConf.load(FOLDER / "slurm.yaml"), own), path)
        return path

    return write


@pytest.fixture
def cluster(
    cluster_file: Callable[..., Path],
    toy_jobs: object,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    root: Path,
) -> MakeCluster:
    """Such a cluster, whose processes find what ours find and the toy jobs."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root / "src"), str(TOY)]))

    def make(**options: object) -> Cluster:
        return load_cluster(str(cluster_file(**options)), tmp_path / "sent")

    return make
