"""A sweep says which of its thresholds are the same mask."""

from __future__ import annotations

from typing import Any

import pytest

from lab.environment_task.equal_thresholds import equal_thresholds, warn_of_equal_thresholds


def config(threshold: float, n: int, target: str = "AndMask", **others: Any) -> dict[str, Any]:
    aggregator = {"_target_": f"ilc.aggregators.{target}", "name": "mask", "agreement_threshold": threshold}
    return {"dataset": {"n_environments": n, "batch_size": 10}, "aggregator": aggregator, **others}


def test_four_environments_cannot_tell_thresholds_above_half_apart() -> None:
    (line,) = equal_thresholds([config(tau, 4) for tau in (0.4, 0.6, 0.8, 1.0)])
    assert line.startswith("with 4 environments in a step the thresholds 0.6 and 0.8 and 1 are the same mask")
    assert equal_thresholds([config(tau, 4) for tau in (0, 0.5, 0.51)]) == []
    assert equal_thresholds([config(tau, 10) for tau in (0.6, 0.8, 1.0)]) == []


def test_only_what_can_be_compared_is() -> None:
    """Other masks, other runs, and runs whose steps have an unknown number of environments say nothing."""
    assert not equal_thresholds([config(0.6, 4, "SandMask"), config(0.8, 4, "SandMask")])
    assert not equal_thresholds([config(0.6, 4, gradients="vectorized"), config(0.8, 4, risk="squared")])
    one_per_example = [config(tau, 4, gradients="per_example") for tau in (0.6, 0.65, 0.7)]
    (line,) = equal_thresholds(one_per_example)  # 10 examples vote: .65 and .7 let one dissent, .6 two.
    assert line.startswith("with 10 environments in a step the thresholds 0.65 and 0.7 are")


def test_a_sweep_over_seeds_says_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["experiment=spirals", "dataset.n_environments=4"]
    runs = [
        [*few, f"aggregator.agreement_threshold={tau}", f"seed={s}"] for tau in (0.6, 0.8) for s in (0, 1)
    ]
    warn_of_equal_thresholds(runs)
    (line,) = capsys.readouterr().out.splitlines()
    assert "0.6 and 0.8" in line
    warn_of_equal_thresholds(runs[:2])
    assert not capsys.readouterr().out
