"""The exact gradient of each example's own loss, by one backward pass per example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from ilc.gradients._environment import dense


class AddedUp(Protocol):
    """What gradients are added to, such as ``GradientStatistics``."""

    def add_(self, gradients: Tensor, /) -> object:
        """Add the gradients ``[k, *shape]`` of k more examples."""


def add_own_gradients(
    losses: Tensor,
    parameters: Sequence[Tensor],
    statistics: Sequence[AddedUp],
    chunk_size: int = 1,
    keep_graph: bool = False,
) -> None:
    """Add the gradients of losses ``[N]`` that share a graph to the statistics of each parameter.

    Args:
        losses: the loss of each example.
        parameters: the tensors to differentiate by.
        statistics: the sums of each of them.
        chunk_size: the number of backward passes at once (batched vector-Jacobian products). They go one by
            one if torch cannot batch them.
        keep_graph: whether other passes through the graph follow.
    """
    n = len(losses)
    start = 0
    while start < n:
        rows = torch.eye(n, dtype=losses.dtype, device=losses.device)[start : start + chunk_size]
        batched = chunk_size > 1
        try:
            gradients = torch.autograd.grad(
                losses,
                list(parameters),
                grad_outputs=rows if batched else rows[0],
                is_grads_batched=batched,
                # An error must leave the graph whole for the passes one by one.
                retain_graph=keep_graph or batched or start + chunk_size < n,
                allow_unused=True,
                materialize_grads=True,
            )
        except RuntimeError:
            if not batched:
                raise
            # torch cannot batch every backward pass, such as GroupNorm's with the channels last.
            chunk_size = 1
            continue
        for running, gradient in zip(statistics, gradients, strict=True):
            running.add_(gradient if batched else dense(gradient).unsqueeze(0))
        start += chunk_size
