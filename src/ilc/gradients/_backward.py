"""The one call that replaces ``loss.backward()``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from ilc._precision import is_narrow
from ilc._processes import ONE_PROCESS, Processes
from ilc.aggregators import Aggregator
from ilc.aggregators._joint import JointAggregator
from ilc.errors import UserError
from ilc.gradients._batches import Batch, as_batches, in_groups
from ilc.gradients._environment import EnvironmentGradients
from ilc.gradients._passes.dense_embeddings import dense_embeddings
from ilc.gradients._passes.example_losses import check_losses
from ilc.gradients._passes.restored_buffers import buffers_put_back_after_errors
from ilc.gradients._refusals import (
    Attempt,
    check_aggregator,
    check_model,
    explained,
    with_a_remedy_that_works,
)
from ilc.gradients._trials.choose_way import acts_on_gradients
from ilc.gradients._trials.example_check import check_shares
from ilc.gradients._trials.findings import one_step
from ilc.gradients._trials.state_between_environments import nothing_left_behind
from ilc.gradients._ways.example_local import example_local
from ilc.gradients._ways.example_loss import example_loss
from ilc.gradients._ways.example_share import example_share
from ilc.gradients._ways.example_sum_only import example_total
from ilc.gradients._ways.joint_loss import jointly
from ilc.gradients._ways.pooled import pooled
from ilc.gradients._ways.sequential import sequential
from ilc.gradients._ways.sum_only import total
from ilc.gradients._ways.vectorized import vectorized
from ilc.objectives import ObjectiveFunction

WAYS = {
    "vectorized": vectorized,
    "sequential": sequential,
    "pooled": pooled,
    "per_example": example_local,
    "per_example_share": example_share,
    "per_example_loss": example_loss,
}
"""The ways of obtaining environment gradients, by the name used in code and configs."""

PER_EXAMPLE = ("per_example", "per_example_share", "per_example_loss")
"""Those in which every example is an environment of its own."""

PASS_PER_ENVIRONMENT = ("vectorized", "sequential")
"""Those in which every environment goes through the model by itself."""


@dataclass(frozen=True)
class BackwardResult:
    """What one call of ``backward`` saw.

    Attributes:
        risks: risk of each environment, ``[E]``, detached; pooled ``[1]``.
        penalties: what an ``Objective`` adds to each risk, ``[E]``, unscaled; else zero.
        kept_share: share of kept components of each trainable parameter, 0-d tensors by name
            (left on the device: reading them is what waits for it).
        overall_kept_share: share of kept components over all trainable parameters, 0-d tensor.
    """

    risks: Tensor
    penalties: Tensor
    kept_share: dict[str, Tensor]
    overall_kept_share: Tensor


def backward(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batch,
    targets: Batch,
    aggregator: Aggregator,
    gradients: str = "vectorized",
) -> BackwardResult:
    """Fill ``.grad`` of every trainable parameter with the aggregated environment gradients.

    Overwrites ``.grad``, so no ``zero_grad`` is needed. A trainable parameter that the risk does
    not reach gets a zero gradient; frozen parameters are left alone.

    Args:
        model: called as ``model(x)`` with one environment's inputs ``[N, ...]``.
        loss_fn: ``loss_fn(outputs, targets)``, the mean risk of one environment; or an ``Objective``, whose
            loss is differentiated while risk and penalty are reported apart.
        inputs: ``[E, N, ...]``; where environments have different sizes a list of E tensors ``[N_e, ...]``,
            each environment weighing the same (``vectorized`` takes those of one size at once).
        targets: ``[E, N, ...]``, or a list alike.
        aggregator: how the E gradients become one update.
        gradients: ``vectorized`` (fast; plain training's cost for a mean) or ``sequential`` (memory
            independent of E): same numbers.
            ``pooled``: one batch of all environments, for the mean alone, where BatchNorm mixes them.
            With N = 1, one forward pass for all examples, equal unless BatchNorm mixes them:
            ``per_example`` (own risk, batch statistics followed one layer; ``example_local``),
            ``per_example_share`` (part of the batch gradient; ``example_share``) or
            ``per_example_loss`` (own risk, exact, N backward passes; ``example_loss``).

    Raises:
        UserError: shapes do not match, E = 0 or N = 0, an unknown way, a model that cannot be
            differentiated this way, or that carries something but buffers from one pass to the next.
    """
    check_aggregator(aggregator)
    # Of a mean nobody sees the votes, and each example's cost as much as the mean itself. In half precision
    # the examples' gradients are added up one by one all the same.
    narrow = any(is_narrow(p.dtype) for p in model.parameters())
    votes = narrow or not (aggregator.is_mean and gradients in PER_EXAMPLE)
    found = _gradients(model, loss_fn, inputs, targets, aggregator, gradients, votes=votes)
    return combined(model, found, aggregator)


def environment_gradients(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batch,
    targets: Batch,
    aggregator: Aggregator,
    gradients: str = "vectorized",
    counts: Sequence[int] | None = None,
    processes: Processes = ONE_PROCESS,
) -> EnvironmentGradients:
    """The first half of ``backward``: what the aggregator will look at; the model's ``.grad`` stays as it is.

    Args:
        model: as for ``backward``.
        loss_fn: likewise.
        inputs: likewise.
        targets: likewise.
        aggregator: likewise.
        gradients: likewise.
        counts: environments of each process, for a ``JointAggregator``, which looks at those of all.
        processes: who share the step.

    Raises:
        UserError: as ``backward``.
    """
    return _gradients(model, loss_fn, inputs, targets, aggregator, gradients, counts, processes)


def _gradients(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batch,
    targets: Batch,
    aggregator: Aggregator,
    gradients: str,
    counts: Sequence[int] | None = None,
    processes: Processes = ONE_PROCESS,
    votes: bool = True,
) -> EnvironmentGradients:
    """As ``environment_gradients``; without ``votes`` only the sums of the examples' gradients."""
    if gradients not in WAYS:
        raise UserError(f"gradients must be one of {', '.join(WAYS)}, got {gradients!r}")
    check_aggregator(aggregator)
    check_model(model)
    x, y = as_batches(inputs, targets)
    if gradients == "pooled" and aggregator.needs_environments:
        raise UserError(
            "gradients='pooled' does not tell environments apart, which only the mean can do without: take "
            "gradients='vectorized' with this aggregator"
        )
    if isinstance(x, list) and gradients not in PASS_PER_ENVIRONMENT:
        raise UserError(
            f"gradients={gradients!r} takes all examples as one batch, not environments of different sizes: "
            "take gradients='vectorized' or 'sequential', or give one tensor of all examples"
        )
    way: Callable[..., EnvironmentGradients] = partial(WAYS[gradients], also=aggregator.sums_on_request)
    if isinstance(aggregator, JointAggregator):
        way = partial(jointly, aggregator=aggregator, gradients=gradients, counts=counts, processes=processes)
    elif not votes and acts_on_gradients(model) is None:
        way = example_total
    elif gradients == "vectorized":
        way = way if aggregator.needs_votes else total
        if isinstance(x, list):
            way = _of_unequal_ones(way, model, aggregator)
    attempt = Attempt(gradients, WAYS, model, loss_fn, x, y)
    with one_step(model, loss_fn), dense_embeddings(model), buffers_put_back_after_errors(model):
        try:
            if gradients in PER_EXAMPLE:
                check_losses(model, loss_fn, x, y)
            by_layers = gradients in ("per_example", "per_example_share")
            if by_layers and not check_shares(model, loss_fn, x, y) and votes:  # Nothing is finite yet.
                way = partial(example_loss, also=aggregator.sums_on_request)
            if gradients not in PASS_PER_ENVIRONMENT:
                return way(model, loss_fn, x, y)
            with nothing_left_behind(model, loss_fn, x, y, vectorized=gradients == "vectorized"):
                return way(model, loss_fn, x, y)
        except UserError as error:
            raise with_a_remedy_that_works(error, attempt) from error.__cause__
        except Exception as error:
            raise explained(error, attempt) from error


def _of_unequal_ones(
    way: Callable[..., EnvironmentGradients], model: nn.Module, aggregator: Aggregator
) -> Callable[..., EnvironmentGradients]:
    """A way for environments of unequal sizes: those of a size at once, or one after another.

    The mean of a buffer of whole numbers is rounded, and groups of equal sizes would round it twice.
    """
    counts = (b for name, b in model.named_buffers() if not name.endswith("num_batches_tracked"))
    if model.training and not all(b.is_floating_point() or b.is_complex() for b in counts):
        return partial(WAYS["sequential"], also=aggregator.sums_on_request)
    return partial(in_groups, way)


def combined(model: nn.Module, gradients: EnvironmentGradients, aggregator: Aggregator) -> BackwardResult:
    """The second half of ``backward``: statistics become one update, which goes into ``.grad``."""
    risks, statistics, penalties = gradients
    kept_share: dict[str, Tensor] = {}
    kept = torch.zeros((), device=risks.device)
    size = 0
    parameters = dict(model.named_parameters())
    for name in list(statistics):
        # What is no longer needed goes first: its memory is warm, and new memory is slow to come by.
        parameters[name].grad = None
        update, share = aggregator.combine(statistics.pop(name))
        parameters[name].grad = update.to(parameters[name].dtype)
        _call_hooks(parameters[name])
        kept_share[name] = share
        kept += share * update.numel()
        size += update.numel()
    penalties = torch.zeros_like(risks) if penalties is None else penalties
    return BackwardResult(risks, penalties, kept_share, kept / size)


def _call_hooks(p: nn.Parameter) -> None:
    """Post-accumulate hooks, which ``loss.backward()`` calls once ``.grad`` is there."""
    for hook in list((p._post_accumulate_grad_hooks or {}).values()):
        hook(p)
