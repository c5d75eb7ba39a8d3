"""A run's config, data and trained model in one call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import nn

from ilc.errors import UserError
from ilc.runs.random_state import random_state, seed_everything, set_random_state
from ilc.runs.run_directory import RunDirectory
from ilc.runs.run_options import RunOptions
from ilc.runs.task import Metrics, Task
from ilc.seeding import seed_for


@dataclass(frozen=True)
class LoadedRun:
    """What a finished or interrupted run left.

    Attributes:
        folder: of the run.
        config: resolved, as plain values.
        task: at the last checkpoint.
        metrics: of all evaluations up to it.
        summary: of a finished run, else None.
    """

    folder: Path
    config: dict[str, Any]
    task: Task
    metrics: list[Metrics]
    summary: dict[str, Any] | None

    @property
    def model(self) -> nn.Module:
        """The trained model, in evaluation mode."""
        return self.task.model

    @property
    def data(self) -> Any:
        """The data it learned from; the ``Environments`` of the experiments with environments."""
        return self.task.data


def load_run(folder: Path | str, device: str = "cpu") -> LoadedRun:
    """Load a run at its last checkpoint; global random numbers stay as they were.

    Args:
        folder: of the run.
        device: where model and data are wanted.

    Raises:
        UserError: no run is there, it has no checkpoint yet, or a file is damaged.
    """
    folder = Path(folder)
    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(f"{folder} is no run folder, it has no config.yaml: give a folder that a run printed")
    try:
        config = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    assert isinstance(config, dict)
    content = {str(key): value for key, value in config.items()}
    directory = RunDirectory(folder, content)
    checkpoint = directory.load_checkpoint()
    if checkpoint is None:
        raise UserError(
            f"{folder} has no checkpoint yet: give the run's command again and let it evaluate once"
        )
    options = RunOptions.of(content)
    before = random_state()
    seed_everything(seed_for(options.seed, "run"))
    task = options.build_task(torch.device(device))
    set_random_state(before)
    task.load_state_dict(checkpoint)
    task.model.eval()
    path = folder / "metrics.jsonl"
    # A run that was stopped in its first epoch has a checkpoint and no evaluation.
    lines = path.read_text().splitlines() if path.exists() else []
    metrics = [json.loads(line) for line in lines[: checkpoint["n_evaluations"]]]
    return LoadedRun(folder, content, task, metrics, directory.summary() if directory.is_done else None)
