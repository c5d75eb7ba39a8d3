"""Descent of many seeds of a small model at once: parameters ``[S, P]``, and one aggregator for all seeds.

Masks work component by component, so further seeds are only further components. Do not use rescaling by the
kept share here, because it would mix the seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import grad_and_value, vmap

from ilc.aggregators import Aggregator

SeedRisk = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A function ``risk(theta, inputs, targets)``: the risk of one environment of one seed, a scalar."""


@dataclass(frozen=True)
class Schedule:
    """The settings of a descent.

    Attributes:
        lr: the learning rate.
        steps: the number of full-batch steps.
        lr_decay: the factor on the learning rate after every step.
        weight_decay: decoupled weight decay, which is applied after the mask.
        l1: the strength of the L1 term, which is added after the mask.
        adam: whether to use Adam instead of plain gradient descent.
        stop_at: the pooled risk at which a seed's parameters are kept. 0 uses all steps.
    """

    lr: float
    steps: int
    lr_decay: float = 1.0
    weight_decay: float = 0.0
    l1: float = 0.0
    adam: bool = False
    stop_at: float = 0.0


class ManySeeds(nn.Module):
    """The current parameters of every seed, and those that it kept when its risk was low enough.

    A seed has arrived when its risk is low enough.

    Args:
        objective: the function that is differentiated: the risk, possibly with a penalty.
        risk: the function that decides when a seed has arrived.
        inputs: ``[S, E, ...]``.
        targets: ``[S, E, ...]``.
        start: ``[S, P]``.
        aggregator: combines ``[E, S, P]`` into ``[S, P]``.
        schedule: the settings of the descent.

    Attributes:
        theta: the current parameters ``[S, P]``.
        kept: the parameters ``[S, P]`` that each seed had when it arrived.
        stopped: the step ``[S]`` at which each seed arrived; -1 for seeds that have not arrived.
        step: the number of steps taken.
    """

    def __init__(
        self,
        objective: SeedRisk,
        risk: SeedRisk,
        inputs: Tensor,
        targets: Tensor,
        start: Tensor,
        aggregator: Aggregator,
        schedule: Schedule,
    ) -> None:
        super().__init__()
        self.theta = nn.Parameter(start.detach().clone())
        self.kept: Tensor
        self.stopped: Tensor
        self.register_buffer("kept", start.detach().clone())
        self.register_buffer("stopped", torch.full((len(start),), -1))
        self.schedule, self.step = schedule, 0
        kind = torch.optim.Adam if schedule.adam else torch.optim.SGD
        self.optimizer: torch.optim.Optimizer = kind([self.theta], schedule.lr)
        self._aggregator, self._inputs, self._targets = aggregator, inputs, targets
        self._gradients = vmap(vmap(grad_and_value(_with_risk(objective, risk), has_aux=True), (None, 0, 0)))

    def solutions(self) -> Tensor:
        """Return the solutions ``[S, P]``: kept parameters of arrived seeds, current ones of others."""
        return torch.where((self.stopped >= 0)[:, None], self.kept, self.theta.detach())

    def steps(self) -> Tensor:
        """Return how many steps each seed needed, ``[S]``. A seed that never arrived needed all steps."""
        return torch.where(self.stopped >= 0, self.stopped, self.schedule.steps)

    def descend(self, n_steps: int) -> None:
        """Take ``n_steps`` steps, or fewer if every seed arrives before."""
        for _ in range(n_steps):
            theta, schedule = self.theta.detach(), self.schedule
            gradients, (_, risks) = self._gradients(theta, self._inputs, self._targets)
            arrived = (self.stopped < 0) & (risks.mean(1) <= schedule.stop_at)
            self.kept[arrived] = theta[arrived]
            self.stopped[arrived] = self.step
            if bool((self.stopped >= 0).all()):
                return
            self.theta.grad = self._aggregator(gradients.transpose(0, 1)) + schedule.l1 * theta.sign()
            lr = schedule.lr * schedule.lr_decay**self.step
            for group in self.optimizer.param_groups:
                group["lr"] = lr
            self.optimizer.step()
            with torch.no_grad():
                self.theta.mul_(1 - lr * schedule.weight_decay)
            self.step += 1


def _with_risk(
    objective: SeedRisk, risk: SeedRisk
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    def both(theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return objective(theta, x, y), risk(theta, x, y)

    return both
