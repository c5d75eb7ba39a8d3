"""Optimizer steps of many models at once, each with its own learning rate and weight decay."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lab.experiments.linear_unit_tests.methods import Method, Options
from lab.experiments.linear_unit_tests.risks import Risk

BETAS, EPS = (0.9, 0.999), 1e-8
"""Adam's defaults in PyTorch, which the benchmark uses."""


@dataclass
class Models:
    """The weights of M models in S seeds, and Adam's two averages of each, all ``[S, P, M]``."""

    weights: Tensor
    momentum: Tensor
    second_moment: Tensor

    @classmethod
    def starting_at(cls, weights: Tensor) -> Models:
        """Return models with these weights and with Adam's averages at zero."""
        return cls(weights, torch.zeros_like(weights), torch.zeros_like(weights))

    def of_seeds(self, seeds: slice) -> Models:
        """Return the models of some of the seeds, as views."""
        return Models(self.weights[seeds], self.momentum[seeds], self.second_moment[seeds])

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights and Adam's two averages."""
        return {"weights": self.weights, "momentum": self.momentum, "second_moment": self.second_moment}


def train(models: Models, risk: Risk, method: Method, options: Options, first: int, n_steps: int) -> None:
    """Take the steps ``first + 1`` to ``first + n_steps``, in place."""
    w, m, v = models.weights, models.momentum, models.second_moment
    lr, decay = options["lr"], options["weight_decay"]
    for step in range(first + 1, first + n_steps + 1):
        update = method.direction(risk, w, options)
        if not method.decoupled:
            update = update + decay * w
        if method.adam:
            m.lerp_(update, 1 - BETAS[0])
            v.mul_(BETAS[1]).addcmul_(update, update, value=1 - BETAS[1])
            root = v.sqrt().div_(math.sqrt(1 - BETAS[1] ** step)).add_(EPS)
            update = m / root / (1 - BETAS[0] ** step)
        if method.decoupled:
            w.mul_(1 - lr * decay)
        w.sub_(lr * update)
