"""Train many seeds of a small model at once: parameters ``[S, P]``, one aggregator for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from ilc.aggregators import Aggregator

SeedRisk = Callable[[Tensor, Tensor, Tensor], Tensor]
"""``risk(theta, inputs, targets)`` of one environment of one seed, a scalar."""


@dataclass(frozen=True)
class Schedule:
    """How to descend.

    Attributes:
        lr: learning rate.
        steps: full-batch steps.
        lr_decay: factor on the rate after every step.
        weight_decay: decoupled, applied after the mask.
        l1: strength of the L1 term, added after the mask.
        adam: Adam instead of plain gradient descent.
        stop_at: pooled risk at which a seed's parameters are kept; 0 to use all steps.
    """

    lr: float
    steps: int
    lr_decay: float = 1.0
    weight_decay: float = 0.0
    l1: float = 0.0
    adam: bool = False
    stop_at: float = 0.0


@dataclass(frozen=True)
class Trained:
    """Parameters ``[S, P]`` and the step at which each seed stopped ``[S]``."""

    parameters: Tensor
    steps: Tensor


def train_seeds(
    objective: SeedRisk,
    risk: SeedRisk,
    inputs: Tensor,
    targets: Tensor,
    start: Tensor,
    aggregator: Aggregator,
    schedule: Schedule,
    watch: Callable[[int, Tensor], None] | None = None,
) -> Trained:
    """Descend ``objective`` in every seed; its environments' gradients meet in the aggregator.

    Masks work component by component, so seeds are just more components. (Rescaling by the kept
    share would mix them: do not use it here.)

    Args:
        objective: what is differentiated: the risk, possibly with a penalty.
        risk: decides when a seed stops.
        inputs: ``[S, E, ...]``.
        targets: ``[S, E, ...]``.
        start: ``[S, P]``.
        aggregator: combines ``[E, S, P]`` into ``[S, P]``.
        schedule: rates and length.
        watch: called with the step and the parameters, before every step and at the end.
    """
    theta = start.detach().clone().requires_grad_()
    optimizer: torch.optim.Optimizer = (
        torch.optim.Adam([theta], schedule.lr) if schedule.adam else torch.optim.SGD([theta], schedule.lr)
    )
    gradients_of = vmap(vmap(grad_and_value(_with_risk(objective, risk), has_aux=True), (None, 0, 0)))
    kept, stopped = theta.detach().clone(), torch.full((len(start),), schedule.steps)
    running = torch.ones(len(start), dtype=torch.bool)
    for step in range(schedule.steps + 1):
        if watch is not None:
            watch(step, theta.detach())
        gradients, (_, risks) = gradients_of(theta.detach(), inputs, targets)
        arrived = running & ((risks.mean(1) <= schedule.stop_at) | (step == schedule.steps))
        kept[arrived] = theta.detach()[arrived]
        stopped[arrived] = step
        running &= ~arrived
        if not bool(running.any()):
            break
        theta.grad = aggregator(gradients.transpose(0, 1)) + schedule.l1 * theta.detach().sign()
        for group in optimizer.param_groups:
            group["lr"] = schedule.lr * schedule.lr_decay**step
        optimizer.step()
        with torch.no_grad():
            theta.mul_(1 - optimizer.param_groups[0]["lr"] * schedule.weight_decay)
    return Trained(kept, stopped)


def _with_risk(
    objective: SeedRisk, risk: SeedRisk
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    def both(theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return objective(theta, x, y), risk(theta, x, y)

    return both
