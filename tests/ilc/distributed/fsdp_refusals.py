"""Mistakes with sharded models, each made in every process."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import torch
from fsdp_cases import divided, perceptron, whole
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn import functional as F

import ilc
from ilc import distributed
from ilc.aggregators import AndMask, VRex
from ilc.distributed import current, register_fsdp_hook
from ilc.errors import UserError

AND = AndMask(0.5)
INPUTS, TARGETS = torch.randn(2, 4, 5), torch.zeros(2, 4, dtype=torch.long)


def fsdp1() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FullyShardedDataParallel(perceptron(), device_id=torch.device("cpu"))
    distributed.backward(model, F.cross_entropy, INPUTS, TARGETS, AND)


def fsdp1_hook() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.Sequential(FullyShardedDataParallel(perceptron(), device_id=torch.device("cpu")))
    register_fsdp_hook(model, AND)


def one_process() -> None:
    ilc.backward(divided(perceptron()), F.cross_entropy, INPUTS, TARGETS, AND)


def joint() -> None:
    distributed.backward(divided(perceptron()), F.cross_entropy, INPUTS, TARGETS, VRex(1.0))


def per_example() -> None:
    distributed.backward(divided(perceptron()), F.cross_entropy, INPUTS, TARGETS, AND, "per_example")


def in_part() -> None:
    model = perceptron()
    fully_shard(model[0])
    distributed.backward(model, F.cross_entropy, INPUTS, TARGETS, AND)


def hybrid() -> None:
    model = fully_shard(
        perceptron(), mesh=init_device_mesh("cpu", (current().size, 1), mesh_dim_names=("a", "b"))
    )
    register_fsdp_hook(model, AND)


def nothing_here() -> None:
    n = 2 if current().rank else 0
    distributed.backward(divided(perceptron()), F.cross_entropy, INPUTS[:n], TARGETS[:n], AND)


def with_graphs() -> None:
    model = divided(perceptron())
    distributed.backward(model, [F.cross_entropy(model(INPUTS[0]), TARGETS[0])], aggregator=AND)


def both() -> None:
    model = divided(perceptron())
    register_fsdp_hook(model, AND)
    distributed.backward(model, F.cross_entropy, INPUTS, TARGETS, AND)


def unsent() -> None:
    model = divided(perceptron())
    model.set_requires_gradient_sync(False)
    distributed.backward(model, F.cross_entropy, INPUTS, TARGETS, AND)


def twice() -> None:
    model = divided(perceptron())
    register_fsdp_hook(model, AND)
    for _ in range(2):
        F.cross_entropy(model(INPUTS[0]), TARGETS[0]).backward()


def late() -> None:
    model = divided(perceptron())
    F.cross_entropy(model(INPUTS[0]), TARGETS[0]).backward()
    register_fsdp_hook(model, AND)


def mixing() -> None:
    register_fsdp_hook(divided(nn.Sequential(nn.Linear(2, 2), nn.SyncBatchNorm(2))), AND)


class Carrying(nn.Module):
    """A part whose output depends on the pass before, in the second process only."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = x * (1 + self.last)
        if current().rank:
            self.last = float(x.detach().mean())
        return result


def state() -> None:
    distributed.backward(
        divided(nn.Sequential(perceptron(), Carrying())), F.cross_entropy, INPUTS, TARGETS, AND
    )


def counter() -> str:
    """A counter in the loss is no mistake, and it counts the passes of the step only."""
    calls, model = [0], divided(perceptron())

    def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        return F.cross_entropy(outputs, targets)

    for _ in range(2):
        distributed.backward(model, loss, INPUTS, TARGETS, AND)
    raise UserError(f"{calls[0]} calls")


class Scaled(nn.Module):
    """A loss with a parameter that no optimizer of the model would see."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return self.scale * F.cross_entropy(outputs, targets)


def trainable_loss() -> None:
    distributed.backward(divided(perceptron()), Scaled(), INPUTS, TARGETS, AND)


MISTAKES: tuple[Callable[[], object], ...] = (
    fsdp1,
    fsdp1_hook,
    one_process,
    joint,
    per_example,
    in_part,
    hybrid,
    nothing_here,
    with_graphs,
    both,
    unsent,
    twice,
    late,
    mixing,
    state,
    counter,
    trainable_loss,
)


def messages() -> dict[str, str]:
    """What each mistake says."""
    said = {}
    for mistake in MISTAKES:
        try:
            mistake()
        except UserError as error:
            said[mistake.__name__] = str(error)
    return said


def after_an_error(where: str) -> bool:
    """Whether the step after an error is right, and the error has changed nothing."""
    torch.manual_seed(0)
    model = perceptron()
    reference = divided(copy.deepcopy(model))
    divided(model)

    def fail(*_: object) -> None:
        raise ZeroDivisionError(where)

    handle = {
        "forward": lambda: model[2].register_forward_pre_hook(fail),
        "loss": lambda: model.register_forward_hook(fail),
        "module's backward": lambda: model[2].register_full_backward_hook(fail),
        "backward": lambda: model[1].register_forward_hook(lambda *io: io[2].register_hook(fail) and None),
    }[where]()
    try:
        distributed.backward(model, F.cross_entropy, INPUTS, TARGETS, AND)
    except ZeroDivisionError:
        handle.remove()
        assert all(p.grad is None for p in model.parameters())
        for one in (model, reference):
            distributed.backward(one, F.cross_entropy, INPUTS, TARGETS, AND)
        pairs = list(zip(model.parameters(), reference.parameters(), strict=True))
        return all(torch.equal(whole(a.grad), whole(b.grad)) for a, b in pairs if a.grad is not None)
    return False
