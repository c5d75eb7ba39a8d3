"""Models that FSDP2 divides among two and three processes take the steps of one process."""

from __future__ import annotations

from pathlib import Path

import fsdp_cases
import gang
import pytest
import torch


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_steps_are_those_of_one_process(size: int, tmp_path: Path) -> None:
    """All cases in one test, because starting the processes is what takes time."""
    alone = fsdp_cases.all_trajectories(sharded=False)
    together = gang.together(size, tmp_path / "gang", fsdp_cases.all_trajectories, True)
    for name, expected in alone.items():
        masks = expected["masks"]
        assert masks.any(), f"{name}: a mask that keeps nothing shows nothing"
        if "mask" in name:
            assert not masks.all(), f"{name}: nor does one that keeps everything"
        for result in together:
            assert torch.equal(result[name]["masks"], masks), name
            for key, value in expected.items():
                # Kept shares are single precision.
                tolerance = 1e-6 if key in ("kept", "shares") else 1e-9
                torch.testing.assert_close(
                    result[name][key], value, rtol=tolerance, atol=tolerance, msg=f"{name}: {key}"
                )
