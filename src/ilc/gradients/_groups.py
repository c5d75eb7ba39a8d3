"""Environments in several groups, such as those of one size: one pass for each, and one sum of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import EnvironmentGradients
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers
from ilc.gradients._tensor_tree import Values, stacked


def in_groups(
    way: Callable[..., EnvironmentGradients],
    model: nn.Module,
    objective: Any,
    inputs: list[Values],
    targets: list[Values],
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
            x, y = (stacked([values[e] for e in members]) for values in (inputs, targets))
            found.append(way(model, objective, x, y))
            buffers.collect(len(members))
            order += members
    back = torch.tensor(order).argsort()
    risks, penalties = (
        torch.cat([torch.zeros_like(one.risks) if part is None else part for one, part in parts])[back]
        for parts in ([(one, one.risks) for one in found], [(one, one.penalties) for one in found])
    )
    return EnvironmentGradients(risks, added([one.statistics for one in found]), penalties)


def added(groups: list[dict[str, GradientStatistics]]) -> dict[str, GradientStatistics]:
    """Add up statistics of several groups of environments, into the first of them."""
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


def _kind(pair: tuple[Values, Values]) -> tuple[Any, ...]:
    return tuple((tuple(values.shape), values.dtype) for values in pair)
