"""The environments of one process with their graphs, as a ``JointAggregator`` sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc._precision import widened
from ilc._processes import Processes
from ilc.gradients._environment import dense


@dataclass
class LocalEnvironments:
    """The ``EnvironmentsInStep`` of this process, which has E' of all E environments.

    Attributes:
        losses: ``[E']``, with their graph. In half precision they have none, and ``joint_loss_gradients``
            differentiates ``graphs`` instead.
        risks: ``[E']``.
        parameters: the trainable parameters.
        graphs: the same losses with their graphs: ``[E']`` if there are copies, else one scalar each.
        copies: a copy of the parameters for each environment, ``[E', ...]``, if the losses were made from
            copies; else empty.
        counts: the number of environments of each process.
        processes: the processes that share the step.
    """

    losses: Tensor
    risks: Tensor
    parameters: Sequence[Tensor]
    graphs: Tensor | Sequence[Tensor]
    copies: Sequence[Tensor]
    counts: Sequence[int]
    processes: Processes

    @property
    def n_environments(self) -> int:
        """The number of environments of all processes, E."""
        return sum(self.counts)

    def rows(self, create_graph: bool = False) -> Tensor:
        """The gradients ``[E', P]``, by one backward pass, or without copies by one for each environment."""
        if self.copies:
            assert isinstance(self.graphs, Tensor), "copies come with one tensor of losses"
            # Each loss depends on its own copy only, so the gradient of the sum holds one row for each.
            gradients = differentiated_all(self.graphs.sum(), self.copies, create_graph)
            sizes = [p.numel() for p in self.parameters]
            each = zip(gradients, sizes, strict=True)
            return torch.cat([widened(gradient).reshape(len(gradient), size) for gradient, size in each], 1)
        found = [
            torch.cat([widened(g).flatten() for g in differentiated_all(loss, self.parameters, create_graph)])
            for loss in self.graphs
        ]
        width = sum(p.numel() for p in self.parameters)
        return torch.stack(found) if found else self.risks.new_zeros(0, width)

    @property
    def _own(self) -> slice:
        start = sum(self.counts[: self.processes.rank])
        return slice(start, start + self.counts[self.processes.rank])

    def gather(self, own: Tensor) -> Tensor:
        """The values ``[E, ...]`` of all processes, detached, in the order of the ranks."""
        every = own.new_zeros(self.n_environments, *own.shape[1:], requires_grad=False)
        every[self._own] = own.detach()
        self.processes.sum_(every)
        return every

    def local_part(self, of_all: Tensor) -> Tensor:
        """The part ``[E', ...]`` of this process."""
        return of_all[self._own]


def differentiated_all(loss: Tensor, tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """The dense gradients of a loss, zero for a tensor that it does not reach. The graph is kept."""
    found = torch.autograd.grad(
        loss, tensors, retain_graph=True, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return tuple(dense(gradient) for gradient in found)
