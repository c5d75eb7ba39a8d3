"""SGD and Adam as functions of parameters and gradients, so that gradients pass through their steps.

They take the same steps as ``torch.optim.SGD`` and ``torch.optim.Adam`` (a test compares them). No
maintained library offers this: higher and torchopt did, but they have had no release for years.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

Tensors = dict[str, Tensor]
"""Parameters, or an optimizer's state, by name."""


class FunctionalOptimizer(Protocol):
    """An optimizer that changes nothing in place."""

    def start(self, parameters: Mapping[str, Tensor]) -> Tensors:
        """Return the state before the first step."""

    def step(
        self, parameters: Tensors, gradients: Sequence[Tensor], state: Tensors
    ) -> tuple[Tensors, Tensors]:
        """Return parameters and state after a step; gradients are in the order of the parameters."""


@dataclass(frozen=True)
class SGD:
    """Gradient descent with momentum and coupled weight decay.

    Attributes:
        lr: learning rate.
        momentum: factor on the last step's direction.
        weight_decay: factor on the weights, which is added to the gradient (L2).
    """

    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0

    def start(self, parameters: Mapping[str, Tensor]) -> Tensors:
        """Return a state with zero momentum."""
        return {f"momentum/{name}": torch.zeros_like(value) for name, value in parameters.items()}

    def step(
        self, parameters: Tensors, gradients: Sequence[Tensor], state: Tensors
    ) -> tuple[Tensors, Tensors]:
        """Return parameters and state after one step."""
        after, then = {}, {}
        for (name, value), gradient in zip(parameters.items(), gradients, strict=True):
            decayed = torch.add(gradient, value, alpha=self.weight_decay)
            direction = torch.add(decayed, state[f"momentum/{name}"], alpha=self.momentum)
            then[f"momentum/{name}"] = direction
            after[name] = torch.add(value, direction, alpha=-self.lr)
        return after, then


@dataclass(frozen=True)
class Adam:
    """Adam with coupled weight decay (Kingma and Ba 2015, in PyTorch's form).

    Attributes:
        lr: learning rate.
        beta1: decay of the mean of the gradients.
        beta2: decay of the mean of their squares.
        weight_decay: factor on the weights, which is added to the gradient (L2).
        eps: number added to the square root.
        eps_root: number added under the square root. The slope of the root at 0 is infinite, so without
            this number one unit that no example activates would turn the whole meta-gradient into NaN.
    """

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    weight_decay: float = 0.0
    eps: float = 1e-8
    eps_root: float = 1e-16

    def start(self, parameters: Mapping[str, Tensor]) -> Tensors:
        """Return a state with both means at 0 and no steps taken."""
        state = {f"mean/{name}": torch.zeros_like(value) for name, value in parameters.items()}
        state |= {f"square/{name}": torch.zeros_like(value) for name, value in parameters.items()}
        return state | {"step": torch.zeros(())}

    def step(
        self, parameters: Tensors, gradients: Sequence[Tensor], state: Tensors
    ) -> tuple[Tensors, Tensors]:
        """Return parameters and state after one step."""
        step = state["step"] + 1
        fade1, fade2 = 1 - self.beta1 ** float(step), 1 - self.beta2 ** float(step)
        after, then = {}, {"step": step}
        for (name, value), gradient in zip(parameters.items(), gradients, strict=True):
            decayed = torch.add(gradient, value, alpha=self.weight_decay)
            mean = torch.lerp(state[f"mean/{name}"], decayed, 1 - self.beta1)
            square = torch.addcmul(
                self.beta2 * state[f"square/{name}"], decayed, decayed, value=1 - self.beta2
            )
            then[f"mean/{name}"], then[f"square/{name}"] = mean, square
            # Both corrections are numbers, not tensors: this saves passes over memory, which cost the most.
            root = fade2**0.5
            size = (square + self.eps_root * fade2).sqrt() + self.eps * root
            after[name] = torch.addcdiv(value, mean, size, value=-self.lr * root / fade1)
        return after, then
