"""A small training with environments, in a plain loop that every trainer is compared with."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import Aggregator, Mean

E, N, D, STEPS = 4, 6, 5, 4


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 8), nn.Tanh(), nn.Linear(8, 3))


def batches(steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """Inputs ``[steps, E, N, D]`` and targets ``[steps, E, N]``."""
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(steps, E, N, D, generator=random)
    return inputs, (inputs[..., :2] > 0).long().sum(-1)


def plain_update(model: nn.Module, losses: list[Tensor], aggregator: Aggregator) -> None:
    """One gradient after another, stacked: what every trainer's update is compared with."""
    parameters = list(model.parameters())
    rows = [torch.autograd.grad(loss, parameters) for loss in losses]
    for p, column in zip(parameters, zip(*rows, strict=True), strict=True):
        p.grad = aggregator(torch.stack(column))


def plain_training(aggregator: Aggregator, together: int = 1, clip: float | None = None) -> list[Tensor]:
    """Parameters after a loop in which ``together`` batches make one update, with momentum and a schedule."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    inputs, targets = batches()
    for x, y in zip(inputs.split(together), targets.split(together), strict=True):
        environments = zip(x.flatten(0, 1), y.flatten(0, 1), strict=True)
        plain_update(model, [F.cross_entropy(model(a), b) for a, b in environments], aggregator)
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
    return [p.detach() for p in model.parameters()]


def assert_moved_alike(ours: list[Tensor], plain: list[Tensor]) -> None:
    """Both ended at the same place, which is neither where they began nor where the mean would have ended."""
    end = flat(plain)
    for other in (list(network().parameters()), plain_training(Mean())):
        assert (end - flat(other)).norm() > 0.1
    torch.testing.assert_close(flat(ours), end, rtol=1e-5, atol=1e-6)


def flat(tensors: list[Tensor]) -> Tensor:
    """All numbers in one vector."""
    return torch.cat([one.detach().flatten() for one in tensors])
