"""The task refuses numbers out of range, and refuses or names options that have no effect."""

from __future__ import annotations

import pytest
import torch

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.runs.one_run.run_options import RunOptions


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["n_seeds=0"], "n_seeds must be at least 1"),
        (["n_seeds=-1"], "n_seeds must be at least 1"),
        (["problem=noisy_regression", "noise=-1"], "noise a number of at least 0"),
        (["problem=authors_regression", "noise=0.1"], "has no effect on problem=authors_regression"),
        (["problem=cats"], "problem must be one of two_parameters"),
        (["trainer.max_epochs=7"], "must divide the 5000 steps"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refuses(overrides: list[str], message: str) -> None:
    options = RunOptions.of(compose_experiment(["experiment=theory", "device=cpu", *overrides]))
    with pytest.raises(UserError, match=message):
        options.build_task(torch.device("cpu"))


def test_a_seed_is_said_to_have_no_effect() -> None:
    with pytest.warns(UserWarning, match="seed=1 has no effect"):
        RunOptions.of(compose_experiment(["experiment=theory", "device=cpu", "seed=1"])).build_task(
            torch.device("cpu")
        )
