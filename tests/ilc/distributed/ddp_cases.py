"""What the processes of a test do inside DistributedDataParallel."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from ilc import backward
from ilc.aggregators import AndMask, GeometricMean, Mean, SandMask, SignElection, XorMask
from ilc.distributed import current, register_ddp_hook
from ilc.errors import UserError

AGGREGATORS = {
    "and_mask": AndMask(0.9),
    "rescaled": AndMask(0.9, rescale=True),
    "geometric_mean": GeometricMean(0.9),
    "xor_mask": XorMask(0.9),
    "mean": Mean(),
    "sand_mask": SandMask(0.9),
    "sign_election": SignElection(),
}


def steps(options: dict[str, Any]) -> dict[str, bool]:
    """Whether the gradients of five steps, in several buckets, are those of one process, by aggregator."""
    rank, size = current().rank, current().size
    same = {}
    for name, aggregator in AGGREGATORS.items():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 3))
        model = model.double().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        reference = copy.deepcopy(model)
        wrapped = DistributedDataParallel(model, bucket_cap_mb=1e-3, **options)
        register_ddp_hook(wrapped, aggregator)
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (wrapped, reference)]
        same[name] = True
        some_masked = False
        for _ in range(5):
            inputs, targets = torch.randn(size, 8, 2, 6, 6, dtype=torch.float64), torch.randint(3, (size, 8))
            optimizers[0].zero_grad()
            F.cross_entropy(wrapped(inputs[rank]), targets[rank]).backward()
            backward(reference, F.cross_entropy, inputs, targets, aggregator, "sequential")
            for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
                assert ours.grad is not None
                assert theirs.grad is not None
                same[name] &= torch.equal(ours.grad != 0, theirs.grad != 0)
                same[name] &= torch.allclose(ours.grad, theirs.grad, rtol=1e-9, atol=1e-12)
                some_masked |= bool((theirs.grad == 0).any())
            for optimizer in optimizers:
                optimizer.step()
        assert some_masked or name == "mean"
    return same


def refusals() -> dict[str, str]:
    """The messages of what cannot be exact."""
    model = DistributedDataParallel(nn.Linear(2, 2))
    register_ddp_hook(model, AndMask(0.0))

    def backward_pass() -> None:
        model(torch.ones(3, 2)).sum().backward()

    said = {}
    backward_pass()
    for name, zero in (("accumulated", False), ("no_sync", True)):
        if zero:
            model.zero_grad()
        with model.no_sync() if name == "no_sync" else contextlib.nullcontext():
            try:
                backward_pass()
            except UserError as error:
                said[name] = str(error)
    # Gradients that were set to zero instead of removed are no leftovers.
    model.zero_grad(set_to_none=False)
    backward_pass()
    embedding = DistributedDataParallel(nn.Embedding(3, 2, sparse=True))
    register_ddp_hook(embedding, AndMask(0.0))
    try:
        embedding(torch.arange(3)).sum().backward()
    except UserError as error:
        said["sparse"] = str(error)
    # Added afterwards, because DDP takes it on CUDA alone.
    mixing = DistributedDataParallel(nn.Linear(2, 2))
    mixing.module.add_module("norm", nn.SyncBatchNorm(2))
    try:
        register_ddp_hook(mixing, AndMask(0.5))
    except UserError as error:
        said["sync_batch_norm"] = str(error)
    return said


def passes_without_gradients() -> tuple[bool, str]:
    """Whether one before the backward pass leaves the votes alone, and what is said under no_sync."""
    model = DistributedDataParallel(nn.Linear(2, 2))
    register_ddp_hook(model, AndMask(1.0))
    inputs = torch.eye(2)[current().rank].expand(3, 2)

    def backward_pass(between: bool, no_sync: bool = False) -> list[torch.Tensor]:
        model.zero_grad()
        with model.no_sync() if no_sync else contextlib.nullcontext():
            loss = model(inputs).sum()
        if between:
            with torch.no_grad():
                model(inputs)
        loss.backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    same = all(map(torch.equal, backward_pass(True), backward_pass(False)))
    try:
        backward_pass(True, no_sync=True)
    except UserError as error:
        return same, str(error)
    return same, ""


def half_precision() -> dict[str, bool]:
    """Whether a mean that float16 holds comes out of sums that it does not, by aggregator."""
    right = {}
    for name, aggregator in AGGREGATORS.items():
        model = nn.Linear(1, 3).half()
        wrapped = DistributedDataParallel(model)
        register_ddp_hook(wrapped, aggregator)
        wrapped(torch.full((1, 1), 40_000.0, dtype=torch.float16)).sum().backward()
        gradient = model.weight.grad
        assert gradient is not None and gradient.dtype == torch.float16
        wanted = torch.zeros_like(gradient) if name == "xor_mask" else torch.full_like(gradient, 40_000.0)
        right[name] = torch.allclose(gradient, wanted, rtol=1e-2)
    return right
