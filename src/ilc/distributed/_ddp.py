"""Masks inside DistributedDataParallel, for training loops with one environment per process."""

# Without `from __future__ import annotations`: DDP compares its hook's annotations with types.
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ilc._precision import widened
from ilc.aggregators import ON_REQUEST, Aggregator, GradientStatistics
from ilc.aggregators._base import combine_checked
from ilc.aggregators._joint import JointAggregator
from ilc.distributed._same_step import check_same_hook
from ilc.distributed._votes import packed, unpacked
from ilc.errors import UserError


def register_ddp_hook(model: DistributedDataParallel, aggregator: Aggregator) -> None:
    """Let DDP combine the gradients of the processes with an aggregator instead of averaging them.

    Every process trains on the batches of one environment, so E is the number of processes. The training loop
    does not change (``loss.backward()``). Each bucket of gradients is sent together with its signs, which
    take one byte per component for up to 127 processes and two bytes for more. As always in DDP, sending
    overlaps with the backward pass::

        model = DistributedDataParallel(model)
        register_ddp_hook(model, AndMask(agreement_threshold=0.8))

    The result is exact: every process has one vote, from the gradient of its whole batch. Three uses would
    break this, and their backward pass ends with an error. Accumulation over several backward passes would
    add to a gradient that is already masked. A pass under ``no_sync`` would have no votes. In a sparse
    gradient (``nn.Embedding(sparse=True)``) no signs can be counted. BatchNorm normalises by each process's
    batch. Its running statistics are those of rank 0, as always in DDP. For several environments per process,
    gradient accumulation or another number of environments, use ``ilc.distributed.backward``.

    Args:
        model: a wrapped model without a hook of its own.
        aggregator: any aggregator except a ``JointAggregator``.

    Raises:
        UserError: the model is not a DDP model, the aggregator is a ``JointAggregator``, the model has
            SyncBatchNorm, which mixes the environments, a parameter has a gradient from before, or the
            processes train other parameters or have other aggregators.
    """
    if not isinstance(model, DistributedDataParallel):
        raise UserError(
            f"register_ddp_hook needs a model in DistributedDataParallel, got {type(model).__name__}: wrap "
            "the model in DistributedDataParallel, or use ilc.distributed.backward with the unwrapped model"
        )
    if isinstance(aggregator, JointAggregator):
        raise UserError(
            f"{type(aggregator).__name__} needs the gradients of all parameters together, but "
            "DistributedDataParallel sends them in several parts: use ilc.distributed.backward with the "
            "unwrapped model"
        )
    if any(isinstance(layer, nn.SyncBatchNorm) for layer in model.modules()):
        raise UserError(
            "SyncBatchNorm normalises all environments together, so that no environment has a gradient of "
            "its own: use BatchNorm or GroupNorm instead"
        )
    check_same_hook(model.module, aggregator, model.process_group)
    sent = _Sent(model)
    model.register_forward_pre_hook(sent.note)
    for name, parameter in model.module.named_parameters():
        if parameter.requires_grad:
            parameter.register_hook(_Guard(sent, name, parameter))
    model.register_comm_hook(None, _Hook(model.process_group, aggregator).aggregate)


class _Sent:
    """Whether DDP sends the gradients of the last forward pass that has any.

    DDP itself notes this of the last forward pass, also of one without gradients, as for an accuracy.
    """

    def __init__(self, model: DistributedDataParallel) -> None:
        self._model = model
        self._before: bool | None = None

    def note(self, *_: Any) -> None:
        """Keep DDP's note while passes without gradients follow; called before each forward pass."""
        if torch.is_grad_enabled():
            self._before = None
        elif self._before is None:
            self._before = self._model.require_forward_param_sync

    def __bool__(self) -> bool:
        return bool(self._model.require_forward_param_sync if self._before is None else self._before)


class _Guard:
    """A hook on a parameter's gradient that ends backward passes which would not be exact."""

    def __init__(self, sent: _Sent, name: str, parameter: nn.Parameter) -> None:
        self._sent, self._name, self._parameter = sent, name, parameter

    def __call__(self, gradient: Tensor) -> None:
        if not self._sent:
            raise UserError(
                "no environment can vote in a backward pass under no_sync: remove no_sync, or use "
                "ilc.distributed.backward, which takes several batches per process"
            )
        if gradient.layout != torch.strided:
            raise UserError(
                f"{self._name} has a sparse gradient, in which no signs can be counted: give the layer "
                "sparse=False, or use ilc.distributed.backward with the unwrapped model"
            )
        before = self._parameter.grad
        if before is not None and bool(before.any()):
            raise UserError(
                f"{self._name} already has a gradient from an earlier backward pass, and the sum of two "
                "passes cannot be masked exactly: call optimizer.zero_grad() before each backward pass, or "
                "use ilc.distributed.backward, which takes several batches per process"
            )


class _Hook:
    """The communication hook: sums a bucket and its signs, then computes one update per parameter."""

    def __init__(self, group: dist.ProcessGroup, aggregator: Aggregator) -> None:
        self._group, self._aggregator = group, aggregator

    def aggregate(
        self,
        state: object,
        bucket: dist.GradBucket,  # type: ignore[name-defined]
    ) -> torch.futures.Future[torch.Tensor]:
        """Aggregate one bucket; DDP calls this for each."""
        gradients, n = bucket.buffer(), self._group.size()
        total = widened(gradients)  # In half precision the sum may be out of range.
        votes = packed(total.sign(), n) if self._aggregator.needs_votes else None
        also = {name: ON_REQUEST[name](total) for name in self._aggregator.sums_on_request}
        beside = [self._reduced(message) for message in (votes, *also.values()) if message is not None]
        sums = self._reduced(total).get_future()

        def combined(_: object) -> Tensor:
            for work in beside:
                work.wait()
            self._combine(total, None if votes is None else unpacked(votes, len(total), n), also, bucket)
            return gradients  # type: ignore[no-any-return]

        future: torch.futures.Future[Tensor] = sums.then(combined)
        return future

    def _combine(
        self,
        total: Tensor,
        votes: Tensor | None,
        also: dict[str, Tensor],
        bucket: dist.GradBucket,  # type: ignore[name-defined]
    ) -> None:
        """Replace each parameter's gradient in the bucket by its update."""
        signs = None if votes is None else votes.to(total.dtype)
        for gradient in bucket.gradients():
            start = gradient.storage_offset() - bucket.buffer().storage_offset()

            def of_this(flat: Tensor, like: Tensor = gradient, start: int = start) -> Tensor:
                return flat.as_strided(like.shape, like.stride(), flat.storage_offset() + start)

            statistics = GradientStatistics(
                self._group.size(),
                of_this(total),
                total.new_full((), torch.nan) if signs is None else of_this(signs),
                **{name: of_this(values) for name, values in also.items()},
            )
            gradient.copy_(combine_checked(self._aggregator, statistics).update)

    def _reduced(self, message: Tensor) -> Any:
        return dist.all_reduce(message, group=self._group, async_op=True)
