"""Runs that share what Hydra composes have the same config and name as runs composed one by one."""

from __future__ import annotations

import pytest

from lab.configuration import compose
from lab.configuration.compose import compose_config, compose_run
from lab.configuration.resolve import resolve, run_name

RUNS = [
    ["experiment=spirals", "aggregator=and_mask", "seed=0"],
    ["experiment=spirals", "aggregator=and_mask", "seed=12"],
    ["experiment=spirals", "aggregator=and_mask"],
    ["experiment=cifar_random_labels", "seed=3"],
    ["experiment=spirals", "tuned=searched/spirals/l1", "seed=4"],
]


@pytest.mark.slow
def test_configs_and_names_are_those_of_runs_composed_alone() -> None:
    for overrides in [*RUNS, *RUNS[::-1]]:
        together, alone = compose_run(overrides), compose_config(overrides)
        assert run_name(together) == run_name(alone)
        assert resolve(together) == resolve(alone)


def test_seeds_share_the_work_and_searched_settings_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[list[str]] = []

    def counted(overrides: list[str]) -> object:
        composed.append(list(overrides))
        return compose_config(overrides)

    monkeypatch.setattr(compose, "compose_config", counted)
    compose._composed.cache_clear()
    for seed in range(3):
        compose_run(["experiment=spirals", f"seed={seed}"])
    assert composed == [["experiment=spirals"]]
    for seed in range(2):
        compose_run(["experiment=spirals", "tuned=searched/spirals/l1", f"seed={seed}"])
    assert len(composed) == 3
