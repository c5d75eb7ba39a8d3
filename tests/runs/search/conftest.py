from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from ilc.runs.search.definition import Definition

MakeDefinition = Callable[..., Definition]


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
