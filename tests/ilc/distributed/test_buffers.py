"""Buffers over processes: the mean over all environments, whatever their type and whoever has how many."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ilc.distributed._buffers import MeanOfBuffers

TYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool)


def model_with(buffer: Tensor) -> nn.Module:
    model = nn.Linear(1, 1)
    model.register_buffer("seen", buffer)
    return model


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("counts", [[1], [2, 1], [3, 0, 2], [0, 4, 1, 1]])
def test_the_mean_over_the_environments_of_all_processes(dtype: torch.dtype, counts: list[int]) -> None:
    start = torch.tensor([0, 1, 1]).to(dtype)
    ends = [torch.tensor([rank % 2, 1, rank < 2]).to(dtype) for rank in range(len(counts))]
    models = [model_with(start.clone()) for _ in counts]
    kept = [MeanOfBuffers(model) for model in models]
    for model, end in zip(models, ends, strict=True):
        next(model.buffers()).copy_(end)  # The mean over the environments of this process.
    messages = [each.changes(counts, rank) for rank, each in enumerate(kept)]
    summed = [torch.stack(parts).sum(0) for parts in zip(*messages, strict=True)]
    for each in kept:
        each.apply(summed)
    every = torch.cat([end.expand(n, 3) for end, n in zip(ends, counts, strict=True)]).double()
    mean = every.mean(0) if dtype.is_floating_point else torch.floor(every.mean(0) + 0.5)
    for model in models:
        seen = next(model.buffers())
        assert seen.dtype == dtype
        assert torch.allclose(seen.double(), mean, rtol=1e-2 if dtype == torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("start", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("counts", [[2, 1], [3, 0, 2]])
def test_a_buffer_that_begins_infinite(start: float, counts: list[int]) -> None:
    models = [model_with(torch.full((3,), start)) for _ in counts]
    kept = [MeanOfBuffers(model) for model in models]
    for rank, (model, n) in enumerate(zip(models, counts, strict=True)):
        if n:  # The last value stays as it was in one process.
            next(model.buffers()).copy_(torch.tensor([rank, 1.0, start if rank else 1.0]))
    messages = [each.changes(counts, rank) for rank, each in enumerate(kept)]
    summed = [torch.stack(parts).sum(0) for parts in zip(*messages, strict=True)]
    mean = sum(rank * n for rank, n in enumerate(counts)) / sum(counts)
    for each, model in zip(kept, models, strict=True):
        each.apply(summed)
        expected = torch.tensor([mean, 1.0, start])
        torch.testing.assert_close(next(model.buffers()), expected, equal_nan=True)
