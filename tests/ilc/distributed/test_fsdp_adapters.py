"""LoRA of peft under FSDP2: the masks of one process."""

from __future__ import annotations

from pathlib import Path

import fsdp_adapters
import gang
import pytest
import torch

from lab.machine.torchvision_import import import_torchvision

# peft calls what transformers is about to rename.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_masks_are_those_of_one_process(size: int, tmp_path: Path) -> None:
    import_torchvision()
    pytest.importorskip("peft", reason="the models need the extra 'transformers'")
    expected = fsdp_adapters.steps(sharded=False)
    assert 0.1 < expected["masks"].double().mean() < 0.9
    for found in gang.together(size, tmp_path / "gang", fsdp_adapters.steps, True):
        assert torch.equal(found["masks"], expected["masks"])
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-9)
