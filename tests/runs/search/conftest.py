from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from ilc.runs.search import loop
from ilc.runs.search.definition import Definition
from ilc.runs.search.trial import Result
from ilc.runs.workers import Job

MakeDefinition = Callable[..., Definition]


class InThisProcess:
    """Stands in for ``Workers``, which would have to load torch once more."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._jobs: list[Job[Result]] = []

    def __class_getitem__(cls, kind: object) -> type[InThisProcess]:
        return cls

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None: ...

    @property
    def n_busy(self) -> int:
        return len(self._jobs)

    @property
    def has_room(self) -> bool:
        return self.n_busy < self._n

    def start(self, job: Job[Result]) -> None:
        self._jobs.append(job)

    def wait(self) -> list[tuple[str, Result | UserError]]:
        job = self._jobs.pop()  # The youngest, as when it is the quickest.
        try:
            return [(job.name, job.call())]
        except UserError as error:
            return [(job.name, error)]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials are trained without workers."""
    monkeypatch.setattr(loop, "Workers", InThisProcess)


@pytest.fixture
def definition(tiny: tuple[str, ...]) -> Iterator[MakeDefinition]:
    """Makes a search over tiny spirals; its runs, made in this process, leave torch as it was."""

    def make(*fixed: str, **changes: Any) -> Definition:
        values: dict[str, Any] = {
            "name": "tiny",
            "fixed": ("~tuned", "experiment=spirals", "aggregator=and_mask", *without_logger(tiny), *fixed),
            "space": {
                "optimizer": {"choice": ["adam", "sgd"]},
                "optimizer.lr": {"log_uniform": [1e-4, 1e-2]},
                "aggregator.rescale": {"choice": [True, False]},
                "model.hidden_layers": {"integer": [1, 3]},
            },
            "objective": {"test/accuracy": "maximize", "test/loss": "minimize"},
            "selection": "last",
            "trials": 3,
        }
        return Definition(**{**values, **changes})

    yield make
    torch.use_deterministic_algorithms(False)


def without_logger(tiny: tuple[str, ...]) -> tuple[str, ...]:
    """The search itself switches W&B off, and Hydra takes each choice once."""
    return tuple(text for text in tiny if not text.startswith("logger="))
