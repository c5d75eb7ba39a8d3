"""What FSDP2 calls to add gradients: sums and sums of signs, each process receives those of its shard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from ilc._precision import widened
from ilc.aggregators import ON_REQUEST, Aggregator, GradientStatistics
from ilc.distributed._shards.checks import padded_size
from ilc.distributed._votes import packed, unpacked
from ilc.errors import UserError
from ilc.gradients._sharded import fsdp_modules

LOST = (
    "FSDP2 added gradients that no parameter took, so that some votes are missing: after load_state_dict("
    "assign=True), to() or another change of the parameters call register_fsdp_hook again"
)


class VotingReduceScatter:
    """Adds the gradients of one group of parameters over the processes, and their signs beside them.

    It has the form of FSDP2's ``ReduceScatter``. Without an aggregator it averages, as FSDP2 does.

    Attributes:
        aggregator: it says which sums are needed; None for the mean alone.
        silent: whether the gradient of this process counts for nothing in this pass.
        failed: whether the last pass has ended with an error.
    """

    def __init__(self) -> None:
        self.aggregator: Aggregator | None = None
        self.silent = self.failed = False
        self._received: dict[str, Tensor] = {}
        self._taken = 0

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Memory for a message."""
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: dist.ProcessGroup,
        op: Any = None,
        async_op: bool = False,
    ) -> None:
        """Add over the processes; FSDP2 calls this for each group of parameters.

        Args:
            output_tensor: ``[S]``, receives the sums of this process's shard, with padding.
            input_tensor: ``[R * S]``, the gradients of this process for all shards.
            group: the R processes.
            op: the sum, as ``voting_reduce_scatter`` has asked for.
            async_op: FSDP2 does not set it.
        """
        self.check_taken()
        if self.silent:
            input_tensor.zero_()  # A product would keep NaN.
        size, aggregator = group.size(), self.aggregator
        total = widened(input_tensor)  # In half precision the sum may be out of range.
        if aggregator is None:
            output_tensor.copy_(_scattered(total, group) / size)
            return
        received = {"total": _scattered(total, group)}
        if aggregator.needs_votes:
            votes = unpacked(_scattered(votes_by_shard(total, size), group), len(output_tensor), size)
            received["sign_sum"] = votes.to(total.dtype)
        for name in aggregator.sums_on_request:
            each = ON_REQUEST[name](total)
            received[name] = _scattered(each.zero_() if self.silent else each, group)
        output_tensor.copy_(received["total"])
        self._received, self._taken = received, 0

    def take(self, p: DTensor, aggregator: Aggregator) -> GradientStatistics:
        """The sums for a parameter's shard, in FSDP2's order. ``n_environments`` is one for each process."""
        size = p.device_mesh.size()
        assert isinstance(p.grad, DTensor), "FSDP2 has just filled it"
        own = p.grad.to_local()
        if size == 1:  # FSDP2 adds nothing.
            statistics = GradientStatistics.zeros(own, aggregator.sums_on_request)
            return statistics.add_(own.detach().unsqueeze(0))
        start, self._taken = self._taken, self._taken + padded_size(p)
        parts = {
            name: flat[start : start + own.numel()].view(own.shape).to(own.device)
            for name, flat in self._received.items()
        }
        parts.setdefault("sign_sum", parts["total"].new_full((), torch.nan))
        return GradientStatistics(size, **parts)

    def abandon(self) -> None:
        """Forget what came in, after an error."""
        self._received = {}

    def check_taken(self) -> None:
        """Raise UserError unless the parameters have taken all that came in."""
        if self._received and self._taken != len(self._received["total"]):
            raise UserError(LOST)
        self._received = {}


_of_model: WeakKeyDictionary[nn.Module, VotingReduceScatter] = WeakKeyDictionary()


def voting_reduce_scatter(model: nn.Module) -> VotingReduceScatter:
    """Let FSDP2 add this model's gradients so, from the first call on.

    Raises:
        UserError: a module has parameters on several meshes.
    """
    if model in _of_model:
        return _of_model[model]
    comm = VotingReduceScatter()
    for module in fsdp_modules(model):
        try:
            module.set_custom_reduce_scatter(comm)
        except ValueError as error:
            raise UserError(
                "a module has parameters on several meshes, and FSDP2 then sends gradients in its own way "
                "only: shard the whole model over one mesh of all processes"
            ) from error
        module.set_force_sum_reduction_for_comms(True)
        module.set_gradient_divide_factor(1.0)
        if hasattr(module, "set_reduce_scatter_unused_params"):
            # Processes may reach different parameters; zeros are no votes.
            module.set_reduce_scatter_unused_params(True, recurse=False)
    _of_model[model] = comm
    return comm


def votes_by_shard(gradients: Tensor, size: int) -> Tensor:
    """The signs of gradients ``[R * S]`` as R equally long messages, one for each shard.

    Args:
        gradients: those of one process.
        size: R, the number of processes and of environments.
    """
    return torch.cat([packed(shard, size) for shard in gradients.sign().view(size, -1).unbind()])


def _scattered(message: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The part of the sum of all messages that belongs to this process."""
    received = message.new_empty(len(message) // group.size())
    # Older versions of torch have it by another name only.
    add = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    add(received, message, group=group)
    return received
