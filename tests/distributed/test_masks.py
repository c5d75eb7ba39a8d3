"""Two and three processes take the steps of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cases
import gang
import pytest
import torch

from ilc.aggregators import AndMask, GeometricMean, Mean

Results = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def alone() -> Results:
    return cases.all_trajectories()


@pytest.fixture(scope="module", params=[2, 3])
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    """The trajectories of every process."""
    folder = tmp_path_factory.mktemp("gang") / "results"
    return gang.together(request.param, folder, cases.all_trajectories)


@pytest.mark.parametrize("name", cases.CASES)
def test_masks_are_those_of_one_process(name: str, alone: Results, together: list[Results]) -> None:
    for result in together:
        assert torch.equal(result[name]["masks"], alone[name]["masks"])
    masks = alone[name]["masks"]
    assert masks.any(), "a case whose mask keeps nothing shows nothing"
    if "mask" in name and "fewer" not in name:
        assert not masks.all()


@pytest.mark.parametrize("name", cases.CASES)
def test_risks_and_models_are_those_of_one_process(
    name: str, alone: Results, together: list[Results]
) -> None:
    for result in together:
        for key, value in alone[name].items():
            torch.testing.assert_close(result[name][key], value, rtol=1e-9, atol=1e-9)


def test_all_processes_end_with_the_same_bits(together: list[Results]) -> None:
    """Else they would drift apart."""
    for name, first in together[0].items():
        for other in together[1:]:
            assert all(torch.equal(first[key], other[name][key]) for key in first)


@pytest.mark.parametrize(
    ("aggregator", "n_environments", "most"),
    [
        (Mean(), 4, 1.01),
        (AndMask(0.5), 4, 1.26),
        (AndMask(0.5), 127, 1.3),
        (AndMask(0.5), 128, 1.51),
        (GeometricMean(0.5), 4, 2.26),
    ],
)
def test_bytes_beside_those_of_ddp(aggregator: Any, n_environments: int, most: float, tmp_path: Path) -> None:
    sent = gang.together(2, tmp_path / "gang", cases.bytes_per_step, aggregator, n_environments)
    assert sent[0] == sent[1]
    assert most - 0.05 < sent[0] <= most


@pytest.mark.slow
def test_sixty_four_processes_and_4096_environments(tmp_path: Path) -> None:
    alone = cases.many_environments()
    for result in gang.together(64, tmp_path / "gang", cases.many_environments):
        assert torch.equal(result["masks"], alone["masks"])
    assert 0 < alone["masks"].float().mean() < 1
