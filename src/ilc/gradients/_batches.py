"""Batches of environments: one tensor for equal sizes, a list of batches for different sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients._environment import EnvironmentGradients
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers

Batch = Tensor | Sequence[Tensor]
"""One batch per environment: ``[E, N, ...]``, or E tensors ``[N_e, ...]``, nested in one or in a list."""


def as_batches(inputs: Batch, targets: Batch) -> tuple[Any, Any]:
    """Return both as tensors ``[E, N, ...]`` if the environments have equal sizes, else both as lists.

    Raises:
        UserError: the axes E and N are missing, or the numbers of inputs and targets differ.
    """
    x, y = _unnested(inputs), _unnested(targets)
    if isinstance(inputs, tuple) and isinstance(y, Tensor):
        raise UserError(
            f"inputs are a tuple of {len(inputs)}, but targets are one tensor: if the tuple holds the "
            f"batches of the environments, give inputs and targets as lists; {_SEVERAL}"
        )
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        if x.ndim < 2 or y.ndim < 2 or x.shape[:2] != y.shape[:2] or 0 in x.shape[:2]:
            raise UserError(
                "inputs and targets must share their first two axes [E, N], both at least 1, got shapes "
                f"{tuple(x.shape)} and {tuple(y.shape)}: stack one batch of equal size per environment, or "
                "give lists of batches of different sizes"
            )
        return x, y
    x, y = list(x), list(y)
    if not all(isinstance(one, Tensor) and one.ndim for one in (*x, *y)):
        kinds = ", ".join(sorted({type(one).__name__ for one in (*x, *y)}))
        raise UserError(
            "inputs and targets must be tensors [E, N, ...], or lists with one tensor [N, ...] per "
            f"environment, got lists of {kinds}; {_SEVERAL}"
        )
    if not x or [len(one) for one in x] != [len(one) for one in y] or not all(map(len, x)):
        raise UserError(
            "inputs and targets must have equally many batches, and both batches of an environment must "
            f"have equally many examples, at least one, got batches of {[len(one) for one in x]} and "
            f"{[len(one) for one in y]} examples; {_SEVERAL}"
        )
    if len({_kind(pair) for pair in zip(x, y, strict=True)}) == 1:
        return torch.stack(x), torch.stack(y)
    return x, y


def in_groups(
    way: Callable[..., EnvironmentGradients],
    model: nn.Module,
    objective: Any,
    inputs: list[Tensor],
    targets: list[Tensor],
) -> EnvironmentGradients:
    """Call a way once for all environments of each size. Every environment weighs the same.

    Buffers end as the mean over all environments.
    """
    groups: dict[Any, list[int]] = {}
    for e, pair in enumerate(zip(inputs, targets, strict=True)):
        groups.setdefault(_kind(pair), []).append(e)
    order, found = [], []
    with MeanOfBuffers(model) as buffers:
        for members in groups.values():
            buffers.restart()
            x, y = (torch.stack([values[e] for e in members]) for values in (inputs, targets))
            found.append(way(model, objective, x, y))
            buffers.collect(len(members))
            order += members
    back = torch.tensor(order).argsort()
    risks, penalties = (
        torch.cat([torch.zeros_like(one.risks) if part is None else part for one, part in parts])[back]
        for parts in ([(one, one.risks) for one in found], [(one, one.penalties) for one in found])
    )
    return EnvironmentGradients(risks, _added([one.statistics for one in found]), penalties)


def _added(groups: list[dict[str, GradientStatistics]]) -> dict[str, GradientStatistics]:
    """Add up the statistics of all groups, in place."""
    total, *others = groups
    for other in others:
        for name, more in other.items():
            total[name].n_environments += more.n_environments
            total[name].total = total[name].total + more.total
            total[name].sign_sum = total[name].sign_sum + more.sign_sum
            added = more.requested
            for which, running in total[name].requested.items():
                setattr(total[name], which, running + added[which])
    return total


_SEVERAL = (
    "if the model or the loss takes several tensors, join them along a later axis with torch.cat or "
    "torch.stack, and split them again in forward or in loss_fn"
)


def _unnested(batch: Batch) -> Any:
    if isinstance(batch, Tensor):
        return list(batch.unbind()) if batch.is_nested else batch
    if not isinstance(batch, (list, tuple)):
        raise UserError(
            "inputs and targets must be tensors [E, N, ...], or lists with one tensor [N, ...] per "
            f"environment, got {type(batch).__name__}; {_SEVERAL}"
        )
    return batch


def _kind(pair: tuple[Tensor, Tensor]) -> tuple[Any, ...]:
    return tuple((tuple(values.shape), values.dtype) for values in pair)
