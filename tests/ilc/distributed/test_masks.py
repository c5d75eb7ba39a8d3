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


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_steps_are_those_of_one_process(size: int, tmp_path: Path) -> None:
    """All cases in one test, because starting the processes is what takes time."""
    alone = cases.all_trajectories()
    together: list[Results] = gang.together(size, tmp_path / "gang", cases.all_trajectories)
    for name, expected in alone.items():
        masks = expected["masks"]
        assert masks.any(), f"{name}: a mask that keeps nothing shows nothing"
        if "mask" in name and "fewer" not in name:
            assert not masks.all(), f"{name}: nor does one that keeps everything"
        for result in together:
            assert torch.equal(result[name]["masks"], masks), name
            for key, value in expected.items():
                torch.testing.assert_close(
                    result[name][key], value, rtol=1e-9, atol=1e-9, msg=f"{name}: {key}"
                )
                assert torch.equal(result[name][key], together[0][name][key]), f"{name}: {key} drifts apart"


# The most that a step may send for each byte of DDP's.
BYTES = (
    (Mean(), 4, 1.01),
    (AndMask(0.5), 4, 1.26),
    (AndMask(0.5), 127, 1.3),
    (AndMask(0.5), 128, 1.51),
    (GeometricMean(0.5), 4, 2.26),
)


def test_bytes_beside_those_of_ddp(tmp_path: Path) -> None:
    sent = gang.together(2, tmp_path / "gang", cases.all_bytes_per_step, [row[:2] for row in BYTES])
    assert sent[0] == sent[1]
    for found, (aggregator, n_environments, most) in zip(sent[0], BYTES, strict=True):
        assert most - 0.05 < found <= most, (aggregator, n_environments)


@pytest.mark.slow
def test_sixty_four_processes_and_4096_environments(tmp_path: Path) -> None:
    alone = cases.many_environments()
    for result in gang.together(64, tmp_path / "gang", cases.many_environments):
        assert torch.equal(result["masks"], alone["masks"])
    assert 0 < alone["masks"].float().mean() < 1
