"""The config of a run as one typed object, read once."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch

from ilc.errors import UserError
from lab.configuration.keys import check_type, unknown_key
from lab.configuration.resolve import method_of
from lab.configuration.section import Section, imported, option_types
from lab.configuration.shared_keys import SHARED_KEYS, check_shared_keys
from lab.runs.one_run.logger_options import LoggerOptions, logger_options
from lab.runs.one_run.task import Task
from lab.runs.one_run.trainer_options import TrainerOptions


@dataclass(frozen=True)
class RunOptions:
    """What every run needs to know, and what its task is made of.

    Attributes:
        name: of the experiment.
        method: what distinguishes the run within it, for names, titles and tables.
        seed: of everything random.
        device: ``auto``, ``cpu`` or ``cuda``.
        threads: of the CPU; None leaves them to PyTorch.
        data_dir: where real data lies.
        trainer: epochs, evaluations, stopping, selection.
        logger: where the run is mirrored.
        task: what makes the task.
        arguments: of the task, checked against their types.
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
            UserError: a key is unknown, missing or of the wrong type; no such task.
        """
        check_shared_keys(content)
        task = imported(content["task"])
        own_of_trainer = {field.name for field in fields(TrainerOptions)}
        trainer = {key: value for key, value in content["trainer"].items() if key in own_of_trainer}
        rest = {key: value for key, value in content.items() if key not in SHARED_KEYS}
        others = {key: value for key, value in content["trainer"].items() if key not in own_of_trainer}
        if others:
            rest["trainer"] = others
        types = option_types(task, skip=2)
        _check_keys(rest, task, own_of_trainer)
        return cls(
            name=content["name"],
            method=method_of(content),
            seed=content["seed"],
            device=content["device"],
            threads=content["threads"],
            data_dir=content["data_dir"],
            trainer=_dataclass("trainer", TrainerOptions, trainer),
            logger=logger_options(content["logger"]),
            task=task,
            arguments={key: _argument(key, rest[key], types[key]) for key in rest},
            content=content,
        )

    @property
    def title(self) -> str:
        """Experiment, method and seed, for people."""
        return f"{self.name} {self.method} seed {self.seed}"

    def build_task(self, device: torch.device) -> Task:
        """Make the task.

        Raises:
            UserError: a part of the config that somebody refuses.
        """
        task: Task = Section("experiment", self.name, self.task, self.arguments).build(self, device)
        return task


def _check_keys(rest: dict[str, Any], task: Callable[..., Task], own_of_trainer: set[str]) -> None:
    types = option_types(task, skip=2)
    for key, value in rest.items():
        if key == "trainer" and key not in types:
            raise UserError(unknown_key(f"trainer.{next(iter(value))}", own_of_trainer))
        if key not in types:
            raise UserError(unknown_key(key, {*SHARED_KEYS, *types}))
    parameters = list(inspect.signature(task).parameters.values())[2:]
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty and parameter.name not in rest:
            raise UserError(f"the config lacks {parameter.name!r}, which {task.__name__} needs")


def _argument(key: str, value: Any, annotation: Any) -> Any:
    """A key of the config as the task's argument, with every option checked before anything is built."""
    kind, *others = typing.get_args(annotation) if hasattr(annotation, "__metadata__") else (annotation,)
    if kind is Section:
        section = Section.of(key, value)
        section.check(*others)
        return section
    if is_dataclass(annotation) and isinstance(annotation, type):
        return _dataclass(key, annotation, value)
    check_type(key, value, annotation)
    return value


def _dataclass(key: str, kind: type, values: Any) -> Any:
    if not isinstance(values, Mapping):
        raise UserError(
            f"{key} must be a section with the keys {', '.join(option_types(kind))}, got {values!r}"
        )
    return Section(key, key, kind, dict(values)).build()
