"""Trainable parameters that a pass writes, so that the next environment finds other weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.gradients._trials.held_values import has_a_sum
from ilc.gradients._trials.same_values import same

_MOST_ELEMENTS = 2**22
"""Copies of all parameters are held during the trial if they have no more elements together."""


class WrittenParameters:
    """The trainable parameters as they are now, by their sums, and by copies if they are small."""

    def __init__(self, model: nn.Module) -> None:
        self._parameters = _watched(model)
        small = sum(p.numel() for p in self._parameters.values()) <= _MOST_ELEMENTS
        every = self._parameters.items()
        self._copies = {name: p.detach().clone() for name, p in every} if small else None
        self._marks = self._marked()

    def changed(self) -> list[str]:
        """The names of those that were written since the last call."""
        before, self._marks = self._marks, self._marked()
        return [name for name, mark in self._marks.items() if mark != before[name]]

    def put_back(self) -> bool:
        """Write the old values into those that have changed, and say whether there were copies."""
        if self._copies is None:
            return False
        with torch.no_grad():
            for name, p in self._parameters.items():
                if not same(p.detach(), self._copies[name]):
                    p.data.copy_(self._copies[name])
        return True

    def _marked(self) -> dict[str, str]:
        return {name: _mark(p.detach()) for name, p in self._parameters.items()}


def refusal(name: str, was_put_back: bool) -> str:
    """What to say about a trainable parameter that a pass writes."""
    left = "" if was_put_back else ". This trial has moved it, because large weights are not copied"
    return (
        f"the forward pass changes the trainable parameter model.{name}, so that one environment finds other "
        "weights than the environment before it: compute the changed weights without writing them into the "
        "parameter (torch.nn.utils.parametrize), or write them between the steps, after optimizer.step(). If "
        f"only the first pass does it, call the model once before training{left}"
    )


def _watched(model: nn.Module) -> dict[str, nn.Parameter]:
    # Embeddings with a largest norm shorten the rows that they look up. Doing so twice changes nothing.
    shortened = {
        id(p)
        for module in model.modules()
        if getattr(module, "max_norm", None) is not None
        for p in module.parameters(recurse=False)
    }
    every = model.named_parameters()
    return {
        name: p
        for name, p in every
        if p.requires_grad and id(p) not in shortened and has_a_sum(p.data.detach())
    }


def _mark(values: Tensor) -> str:
    """What changes when a parameter is written, as text because NaN does not equal itself."""
    if not values.is_floating_point() or not values.numel():
        return ""
    magnitude = torch.linalg.vector_norm(values, 1, dtype=torch.float64)
    return str(torch.stack([magnitude, *_weighted_sums(values)]).tolist())


def _weighted_sums(values: Tensor) -> list[Tensor]:
    """Sums that change when rows or columns change places."""
    matrix = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
    sums = [matrix.sum(axis, dtype=torch.float64) for axis in (0, 1)]
    return [one @ torch.arange(1, len(one) + 1, dtype=one.dtype, device=one.device) for one in sums]
