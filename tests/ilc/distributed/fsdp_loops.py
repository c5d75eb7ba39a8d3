"""Training loops in which FSDP2 combines the gradients of the processes: loss.backward() as ever."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from fsdp_cases import divided, perceptron, whole
from torch import Tensor, nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F

from ilc import backward, distributed
from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean, SandMask, SignElection, XorMask
from ilc.distributed import current, register_fsdp_hook

AGGREGATORS = {
    "and_mask": AndMask(0.9),
    "rescaled": AndMask(0.9, rescale=True),
    "geometric_mean": GeometricMean(0.9),
    "xor_mask": XorMask(0.9),
    "mean": Mean(),
    "sand_mask": SandMask(0.9),
    "sign_election": SignElection(),
}


def steps() -> dict[str, bool]:
    """Whether the gradients of five steps are those of one process, by aggregator."""
    rank, size = current().rank, current().size
    same = {}
    for name, aggregator in AGGREGATORS.items():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(2, 7, 3), nn.ReLU(), nn.Flatten(), nn.Linear(7 * 16, 3)).double()
        reference = copy.deepcopy(model)
        divided(model)
        register_fsdp_hook(model, aggregator)
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (model, reference)]
        same[name], some_masked = True, False
        for step in range(5):
            inputs, targets = torch.randn(size, 8, 2, 6, 6, dtype=torch.float64), torch.randint(3, (size, 8))
            # In micro-batches, of which only the last one sends.
            parts = [slice(0, 8)] if step % 2 else [slice(0, 4), slice(4, 8)]
            for part in parts:
                model.set_requires_gradient_sync(part is parts[-1])
                loss = F.cross_entropy(model(inputs[rank, part]), targets[rank, part]) / len(parts)
                loss.backward()
            backward(reference, F.cross_entropy, inputs, targets, aggregator, "sequential")
            for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
                assert ours.grad is not None and theirs.grad is not None
                found = whole(ours.grad)
                same[name] &= torch.equal(found != 0, theirs.grad != 0)
                same[name] &= torch.allclose(found, theirs.grad, rtol=1e-9, atol=1e-12)
                some_masked |= bool((theirs.grad == 0).any())
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        assert some_masked or name in ("mean", "sign_election")
    return same


def half_precision() -> dict[str, bool]:
    """Whether a mean that float16 holds comes out of sums that it does not, by aggregator."""
    right = {}
    for name, aggregator in AGGREGATORS.items():
        model = nn.Linear(1, 3)
        fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.float16))
        register_fsdp_hook(model, aggregator)
        model(torch.full((1, 1), 40_000.0)).sum().backward()
        assert model.weight.grad is not None
        gradient = whole(model.weight.grad)
        assert gradient.dtype == torch.float32
        wanted = torch.zeros_like(gradient) if name == "xor_mask" else torch.full_like(gradient, 40_000.0)
        right[name] = torch.allclose(gradient, wanted, rtol=1e-2)
    return right


class Counted:
    """Bytes of a model's shards that FSDP2's collectives are given, while the block lasts."""

    NAMES = ("reduce_scatter_single", "all_gather_single")

    def __enter__(self) -> Counted:
        self.bytes = dict.fromkeys(self.NAMES, 0)
        self._originals = {name: getattr(dist, name) for name in self.NAMES}
        for name in self.NAMES:
            setattr(dist, name, self._counting(name))
        return self

    def _counting(self, name: str) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            tensors = [one for one in (*arguments, *options.values()) if isinstance(one, Tensor)]
            larger = max(tensors, key=len)  # It has the parts of all processes.
            self.bytes[name] += larger.numel() * larger.element_size()
            return self._originals[name](*arguments, **options)

        return counting

    def __exit__(self, *_: object) -> None:
        for name, original in self._originals.items():
            setattr(dist, name, original)


def bytes_of_passes(aggregators: list[Aggregator]) -> list[dict[str, float]]:
    """Bytes for each parameter and pass in single precision: first FSDP2's, then those of each aggregator."""
    inputs, targets = torch.randn(3, 2, 12), torch.zeros(3, 2, dtype=torch.long)
    found = []
    for aggregator in (None, *aggregators):
        layers = nn.Sequential(nn.Linear(12, 36), nn.ReLU(), nn.Linear(36, 6))
        model = nn.Sequential(divided(layers))
        fully_shard(model)
        size = sum(p.numel() for p in model.parameters())
        with Counted() as counted:
            if aggregator is None:
                for x, y in zip(inputs, targets, strict=True):
                    F.cross_entropy(model(x), y).backward()
            else:
                distributed.backward(model, F.cross_entropy, inputs, targets, aggregator)
        found.append({name: total / (3 * size) for name, total in counted.bytes.items()})
    return found


def averages_afterwards() -> bool:
    """Whether loss.backward() averages as FSDP2 does, after a step of ilc.distributed.backward."""
    torch.manual_seed(0)
    model = perceptron()
    reference = divided(copy.deepcopy(model))
    divided(model)
    inputs, targets = torch.randn(current().size, 8, 5), torch.randint(3, (current().size, 8))
    mine = slice(current().rank, current().rank + 1)
    distributed.backward(model, F.cross_entropy, inputs[mine], targets[mine], AndMask(0.5))
    for one in (model, reference):
        one.zero_grad()
        F.cross_entropy(one(inputs[mine][0]), targets[mine][0]).backward()
    pairs = zip(model.parameters(), reference.parameters(), strict=True)
    return all(torch.allclose(whole(a.grad), whole(b.grad)) for a, b in pairs if a.grad is not None)


def hooks_of_the_user() -> bool:
    """Whether a hook on each parameter sees the update, once in each step."""
    model = divided(perceptron())
    seen: dict[str, list[Tensor]] = {}
    for name, p in model.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, name=name: seen.setdefault(name, []).append(p.grad))
    inputs, targets = torch.randn(3, 8, 5), torch.randint(3, (3, 8))
    distributed.backward(model, F.cross_entropy, inputs, targets, AndMask(0.5))
    return all(len(seen[name]) == 1 and seen[name][0] is p.grad for name, p in model.named_parameters())
