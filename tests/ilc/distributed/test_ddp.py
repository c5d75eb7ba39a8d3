"""The DDP communication hook: one environment per process, the updates of ``ilc.backward``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ddp_cases
import gang
import pytest
from torch import nn

from ilc.aggregators import AndMask
from ilc.distributed import register_ddp_hook
from ilc.errors import UserError


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}])
def test_the_updates_of_one_process(options: dict[str, Any], tmp_path: Path) -> None:
    for result in gang.together(2, tmp_path / "gang", ddp_cases.steps, options):
        assert result == dict.fromkeys(ddp_cases.AGGREGATORS, True)


def test_sums_in_single_precision(tmp_path: Path) -> None:
    for result in gang.together(2, tmp_path / "gang", ddp_cases.half_precision):
        assert result == dict.fromkeys(ddp_cases.AGGREGATORS, True)


def test_an_accuracy_before_the_backward_pass(tmp_path: Path) -> None:
    """DDP notes of its last forward pass whether it sends gradients, and this one has none."""
    for same, said in gang.together(2, tmp_path / "gang", ddp_cases.passes_without_gradients):
        assert same
        assert "no environment can vote in a backward pass under no_sync" in said


def test_what_is_not_exact_is_refused(tmp_path: Path) -> None:
    for said in gang.together(2, tmp_path / "gang", ddp_cases.refusals):
        assert "from an earlier backward pass" in said["accumulated"]
        assert "no environment can vote in a backward pass under no_sync" in said["no_sync"]
        assert "SyncBatchNorm normalises all environments together" in said["sync_batch_norm"]
        assert "weight has a sparse gradient, in which no signs can be counted" in said["sparse"]


def test_a_model_that_is_not_wrapped() -> None:
    with pytest.raises(UserError, match="needs a model in DistributedDataParallel, got Linear"):
        register_ddp_hook(nn.Linear(2, 2), AndMask(0.5))  # type: ignore[arg-type]
