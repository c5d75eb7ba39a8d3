"""The config of a run as one typed object, which is read once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch

from lab.configuration.resolve import method_of
from lab.configuration.section import imported, refusals_explained
from lab.configuration.shared_keys import SHARED_KEYS, check_shared_keys
from lab.runs.one_run.logger_options import LoggerOptions, logger_options
from lab.runs.one_run.task import Task
from lab.runs.one_run.task_arguments import read_dataclass, task_arguments
from lab.runs.one_run.trainer_options import TrainerOptions


@dataclass(frozen=True)
class RunOptions:
    """The options that every run has, and the task of the run with its arguments.

    Attributes:
        name: the name of the experiment.
        method: the name of the method within the experiment, for folder names, titles and tables.
        seed: the seed of all random numbers.
        device: ``auto``, ``cpu`` or ``cuda``.
        threads: the number of CPU threads; None leaves the choice to PyTorch.
        data_dir: the folder of real data.
        trainer: epochs, evaluations, rules to stop, selection.
        logger: where the run is copied to.
        task: the class or function that makes the task.
        arguments: the arguments of the task, checked against their types.
        content: the whole config, as ``config.yaml`` keeps it.
    """

    name: str
    method: str
    seed: int
    device: str
    threads: int | None
    data_dir: str
    trainer: TrainerOptions
    logger: LoggerOptions
    task: Callable[..., Task]
    arguments: dict[str, Any]
    content: dict[str, Any]

    @classmethod
    def of(cls, content: dict[str, Any]) -> RunOptions:
        """Read a resolved config.

        Raises:
            UserError: a key is unknown, missing or of the wrong type, or there is no such task.
        """
        check_shared_keys(content)
        task = imported(content["task"])
        for_the_task = {key: value for key, value in content.items() if key not in SHARED_KEYS}
        # The run and its task share the section ``trainer``: each has its own keys in it.
        names = [field.name for field in fields(TrainerOptions)]
        trainer = {key: value for key, value in content["trainer"].items() if key in names}
        if len(trainer) < len(content["trainer"]):
            others = {key: value for key, value in content["trainer"].items() if key not in names}
            for_the_task["trainer"] = others
        return cls(
            name=content["name"],
            method=method_of(content),
            seed=content["seed"],
            device=content["device"],
            threads=content["threads"],
            data_dir=content["data_dir"],
            trainer=read_dataclass("trainer", TrainerOptions, trainer),
            logger=logger_options(content["logger"]),
            task=task,
            arguments=task_arguments(task, for_the_task, known_of_trainer=names),
            content=content,
        )

    @property
    def title(self) -> str:
        """Experiment, method and seed, as messages show them."""
        return f"{self.name} {self.method} seed {self.seed}"

    def build_task(self, device: torch.device) -> Task:
        """Make the task.

        Raises:
            UserError: an object that the config describes refuses its options.
        """
        with refusals_explained(f"experiment={self.name}"):
            return self.task(self, device, **self.arguments)
