"""Models that FSDP2 divides among two and three processes take the steps of one process."""

from __future__ import annotations

import re
from pathlib import Path

import fsdp_cases
import fsdp_loops
import fsdp_refusals
import gang
import pytest
import torch
from torch import nn

from ilc.aggregators import AndMask, GeometricMean, Mean
from ilc.distributed import register_fsdp_hook
from ilc.errors import UserError


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
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


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_the_loop_of_loss_backward(size: int, tmp_path: Path) -> None:
    for result in gang.together(size, tmp_path / "gang", fsdp_loops.steps):
        assert result == dict.fromkeys(fsdp_loops.AGGREGATORS, True)


@pytest.mark.slow
def test_sums_in_single_precision(tmp_path: Path) -> None:
    for result in gang.together(2, tmp_path / "gang", fsdp_loops.half_precision):
        assert result == dict.fromkeys(fsdp_loops.AGGREGATORS, True)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_bytes_of_docs(size: int, tmp_path: Path) -> None:
    """For each parameter of four bytes and each pass, what docs/scale.md computes."""
    aggregators = [Mean(), AndMask(0.5), GeometricMean(0.5)]
    for plain, *ours in gang.together(size, tmp_path / "gang", fsdp_loops.bytes_of_passes, aggregators):
        assert plain == {"reduce_scatter_single": 4, "all_gather_single": 8}
        assert ours == [plain | {"reduce_scatter_single": each} for each in (4, 5, 9)]


@pytest.mark.slow
def test_a_plain_loop_still_averages(tmp_path: Path) -> None:
    assert gang.together(2, tmp_path / "gang", fsdp_loops.averages_afterwards) == [True, True]


@pytest.mark.slow
def test_hooks_of_the_user_see_the_update(tmp_path: Path) -> None:
    assert gang.together(2, tmp_path / "gang", fsdp_loops.hooks_of_the_user) == [True, True]


SAID = {
    "fsdp1": r"FullyShardedDataParallel \(FSDP1\) .* shard the model with torch.distributed.fsdp.fully_shard",
    "fsdp1_hook": r"FullyShardedDataParallel \(FSDP1\) .* shard the model",
    "one_process": "call ilc.distributed.backward in every process, with the same arguments",
    "joint": "VRex needs the graphs or gradients of all environments at once",
    "per_example": "gradients='per_example' needs the whole model in every process",
    "in_part": "2.weight is trainable but not sharded",
    "hybrid": r"lies on a mesh of shape \(2, 1\)",
    "nothing_here": "process 0 has no environment",
    "with_graphs": "give a function for every environment",
    "both": r"already lets loss.backward\(\) of this model aggregate",
    "unsent": r"call model.set_requires_gradient_sync\(True\) before",
    "twice": r"has a gradient from an earlier .* call optimizer.zero_grad\(\)",
    "late": "0.weight has a gradient from an earlier backward pass",
    "state": r"a pass changes (model\.1\.last|something in another process), so that one environment depends",
    "counter": "4 calls",
    "trainable_loss": r"loss_fn\.scale is trainable but no parameter of the model",
    "mixing": "SyncBatchNorm normalises all environments together",
}


@pytest.mark.slow
def test_what_is_not_exact_is_one_line(tmp_path: Path) -> None:
    for said in gang.together(2, tmp_path / "gang", fsdp_refusals.messages):
        assert said.keys() == SAID.keys()
        for name, message in said.items():
            assert re.search(SAID[name], message), message
            assert "\n" not in message


@pytest.mark.slow
@pytest.mark.parametrize("where", ["forward", "loss", "backward", "module's backward"])
def test_a_step_after_an_error(where: str, tmp_path: Path) -> None:
    assert gang.together(2, tmp_path / "gang", fsdp_refusals.after_an_error, where) == [True, True]


def test_a_model_that_is_not_sharded() -> None:
    with pytest.raises(UserError, match=r"needs a model after torch.* got Linear: call fully_shard"):
        register_fsdp_hook(nn.Linear(2, 2), AndMask(0.5))
