"""The origin of the numbers of a run."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from ilc._processes import current
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.task import DataRecord

PACKAGES = ("torchvision", "numpy", "hydra-core", "wandb")


def provenance(command: str, run: RunOptions, device: torch.device, data: dict[str, str]) -> dict[str, Any]:
    """The command, code, versions, machine and seed of a run, and the identity of its data."""
    return {
        "command": command,
        "git_commit": _git("rev-parse", "HEAD"),
        "git_dirty": None if (changes := _git("status", "--porcelain")) is None else bool(changes),
        "python": platform.python_version(),
        "versions": {
            "torch": torch.__version__,  # Names the build too, as in 2.13.0+cpu.
            **{name: version for name in PACKAGES if (version := _version(name)) is not None},
        },
        "device": str(device),
        "device_name": _device_name(device),
        "processes": current().size,
        "threads": torch.get_num_threads(),
        "seed": run.seed,
        **data,
    }


def data_identity(data: DataRecord) -> dict[str, str]:
    """The source and the hash by which a run recognises its data."""
    return {"data_source": data.source, "data_sha256": data.fingerprint()}


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    """The installed version; None if the package is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """The answer of git about the checkout that holds this file; None if there is no checkout."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
