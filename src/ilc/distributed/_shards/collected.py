"""The statistics of a sharded model over several passes, kept where the parameters lie."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import Tensor, nn

from ilc.aggregators import Aggregator, GradientStatistics
from ilc.distributed._shards.checks import shards
from ilc.distributed._shards.reduce_scatter import voting_reduce_scatter
from ilc.errors import UserError
from ilc.gradients._sharded import forget_unfinished, roots


class CollectedShards:
    """Takes what FSDP2 adds up in each pass. Gradients and hooks of the parameters come back at the end."""

    def __init__(self, model: nn.Module, aggregator: Aggregator) -> None:
        """Begin without any environment.

        Args:
            model: a model that ``check_sharded`` accepts.
            aggregator: it says which sums are needed.

        Raises:
            UserError: the model has a hook that aggregates by itself.
        """
        self._model, self._aggregator = model, aggregator
        self._comm = voting_reduce_scatter(model)
        if self._comm.aggregator is not None:
            raise UserError(
                "register_fsdp_hook already lets loss.backward() of this model aggregate: call that "
                "alone, or leave out register_fsdp_hook"
            )
        self._parameters: dict[str, Any] = dict(shards(model))
        self._names = {p: name for name, p in self._parameters.items()}
        self.statistics = {
            name: GradientStatistics.zeros(p.to_local(), aggregator.sums_on_request)
            for name, p in self._parameters.items()
        }

    def __enter__(self) -> CollectedShards:
        self._kept = [(p, p.grad, p._post_accumulate_grad_hooks) for p in self._names]
        self._comm.aggregator = self._aggregator
        if self._comm.failed:
            forget_unfinished(self._model)
            self._comm.failed = False
        for p in self._names:
            p.grad = None
            # Only the update is what hooks of the user may see.
            p._post_accumulate_grad_hooks = OrderedDict({0: self._take})
        return self

    def backward(self, loss: Tensor, counts: bool) -> None:
        """Add the gradients of one pass of every process.

        Args:
            loss: the loss of one environment.
            counts: whether it counts. A process that has no environment left takes part all the same.

        Raises:
            UserError: FSDP2 has filled gradients in another way, or sent none.
        """
        self._missing = dict(self._parameters)
        self._comm.silent = not counts
        loss.backward()  # type: ignore[no-untyped-call]
        self._comm.check_taken()
        if self._missing.keys() == self._parameters.keys():
            raise UserError(
                "FSDP2 has sent no gradient in this pass: call model.set_requires_gradient_sync(True) before "
                "it, because every environment votes with a pass of its own"
            )
        for name, p in self._missing.items():
            if p.grad is not None:
                raise UserError(
                    f"FSDP2 filled the gradient of {name} without its votes: call fully_shard again"
                )
            log_sum = self.statistics[name].log_sum
            if log_sum is not None:  # No process has reached the parameter.
                log_sum.fill_(-float("inf"))

    def __exit__(self, error: type[BaseException] | None, *details: object) -> None:
        self._comm.silent, self._comm.aggregator = False, None
        for p, gradient, hooks in self._kept:
            p.grad, p._post_accumulate_grad_hooks = gradient, hooks
        if error is not None:
            self._comm.abandon()
            self._comm.failed = True
            for module in roots(self._model):
                if hasattr(module, "reset_iter_state"):
                    module.reset_iter_state()

    def _take(self, p: Any) -> None:
        name = self._names[p]
        more, running = self._comm.take(p, self._aggregator), self.statistics[name]
        p.grad = None
        del self._missing[name]
        running.total += more.total
        if more.sign_sum.ndim == running.sign_sum.ndim:
            running.sign_sum += more.sign_sum
        added = more.requested
        for which, so_far in running.requested.items():
            so_far.add_(added[which])
