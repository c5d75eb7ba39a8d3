"""A sharded run goes on from a checkpoint of torch.distributed.checkpoint."""

from __future__ import annotations

from pathlib import Path

import fsdp_checkpoints
import gang
import pytest
import torch


@pytest.mark.slow
def test_saved_by_two_and_continued_by_two_and_three(tmp_path: Path) -> None:
    """The same number of processes gives the same bits, another number the same up to rounding."""
    folder = tmp_path / "checkpoint"
    expected, _ = gang.together(2, tmp_path / "never stopped", fsdp_checkpoints.train, None, 0, 6, False)
    before, _ = gang.together(2, tmp_path / "before", fsdp_checkpoints.train, folder, 0, 3, True)
    for size in (2, 3):
        for found in gang.together(size, tmp_path / f"{size}", fsdp_checkpoints.train, folder, 3, 6, False):
            for name, value in expected.items():
                assert not torch.allclose(before[name], value, rtol=1e-3), "else nothing was learnt"
                if size == 2:
                    assert torch.equal(found[name], value), name
                torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-9)
