"""Loads the config, the data and the trained model of a run in one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from ilc.errors import UserError
from lab.configuration.stored_targets import check_stored_targets
from lab.machine.seeding import seed_for
from lab.runs.one_run.device import device_of
from lab.runs.one_run.provenance import data_identity
from lab.runs.one_run.random_state import random_state, seed_everything, set_random_state
from lab.runs.one_run.run_directory import RunDirectory
from lab.runs.one_run.run_files import (
    CHECKPOINT,
    CONFIG,
    SELECTED,
    is_done,
    mismatch_explained,
    read_config,
    read_metrics,
    read_selected,
    read_summary,
    remedy,
)
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.selection import LAST, RULES
from lab.runs.one_run.task import Metrics, Task


@dataclass(frozen=True)
class LoadedRun:
    """A finished or an interrupted run.

    Attributes:
        folder: the folder of the run.
        config: the resolved config, as plain values.
        task: the task at the last checkpoint; its model is the selected one.
        metrics: the metrics of all evaluations up to this checkpoint.
        summary: the summary of a finished run; otherwise None.
    """

    folder: Path
    config: dict[str, Any]
    task: Task
    metrics: list[Metrics]
    summary: dict[str, Any] | None

    @property
    def model(self) -> nn.Module:
        """The model as it was at the evaluation that ``trainer.selection`` chose, in evaluation mode."""
        return self.task.model

    @property
    def data(self) -> Any:
        """The data that the run learned from; in experiments with environments these are ``Environments``."""
        return self.task.data


def load_run(folder: Path | str, device: str = "cpu", allow: Iterable[str] = ()) -> LoadedRun:
    """Load a run at its last checkpoint. The states of the global random number generators do not change.

    A run folder may come from another person. Its config is read as text, and only classes that the files
    of this project in ``conf/`` name are built.

    Args:
        folder: the folder of the run.
        device: the device for the model and the data: ``auto`` (the GPU if there is one), ``cpu``, ``cuda``
            or ``cuda:NUMBER``.
        allow: packages (``["mypackage"]``) whose classes the config may also name.

    Raises:
        UserError: the folder holds no run, the run has no checkpoint yet, a file is damaged, the config names
            a class that is not allowed, or there is no such device.
    """
    if not isinstance(folder, (str, Path)):
        raise UserError(f"folder must be the path of a run folder, got {folder!r}")
    folder, place = Path(folder), device_of(device)
    if not (folder / CONFIG).is_file():
        raise UserError(
            f"{folder} is not a run folder, because it has no {CONFIG}: give a folder that a run printed"
        )
    content = read_config(folder)
    check_stored_targets(content, str(folder / CONFIG), allow)
    if not (folder / CHECKPOINT).exists():
        if is_done(folder):  # The run's command would do nothing.
            raise UserError(f"{folder / CHECKPOINT} is missing: {remedy(folder)}")
        raise UserError(
            f"{folder} has no checkpoint yet: give the run's command again and let it evaluate once"
        )
    options = _options(folder, content)
    before = random_state()
    seed_everything(seed_for(options.seed, "run"))
    task = options.build_task(place)
    set_random_state(before)
    checkpoint = RunDirectory(folder, content).load_checkpoint(data_identity(task.data))
    assert checkpoint is not None
    with mismatch_explained(folder):
        task.load_state_dict(checkpoint)
    # A run that was stopped in its first epoch has a checkpoint and no evaluation.
    metrics = read_metrics(folder, checkpoint["n_evaluations"], checkpoint.get("metrics_sha256"))
    rule = options.trainer.selection
    if rule != LAST and metrics:
        weights = _selected(folder, metrics[RULES[rule](metrics)])
        with mismatch_explained(folder, SELECTED):
            task.model.load_state_dict(weights)
    task.model.eval()
    return LoadedRun(folder, content, task, metrics, read_summary(folder) if is_done(folder) else None)


def _options(folder: Path, content: dict[str, Any]) -> RunOptions:
    """The options in the config of a run folder.

    Raises:
        UserError: they are not options of this version of the code.
    """
    try:
        return RunOptions.of(content)
    except UserError as error:
        raise UserError(
            f"{folder / CONFIG} does not fit this version of the code ({error}): load the run with the code "
            "that made it (git_commit in its provenance.json)"
        ) from error


def _selected(folder: Path, evaluation: Metrics) -> dict[str, Any]:
    """The weights of the selected evaluation.

    Raises:
        UserError: there are no such weights, or they belong to another evaluation.
    """
    selected = read_selected(folder)
    if selected is None or selected["step"] != evaluation["step"]:
        raise UserError(
            f"{folder / SELECTED} does not have the weights of step {evaluation['step']}, which "
            f"trainer.selection chose: {remedy(folder)}"
        )
    weights: dict[str, Any] = selected["model"]
    return weights
