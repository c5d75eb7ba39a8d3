"""The one call that replaces ``loss.backward()``."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ilc._precision import is_narrow
from ilc.aggregators import Aggregator
from ilc.aggregators._base import combine_checked
from ilc.gradients._batches import Batch
from ilc.gradients._environment import EnvironmentGradients
from ilc.gradients._environment_gradients import PER_EXAMPLE, gradients_of_step
from ilc.gradients._one_environment import warn_of_one_environment
from ilc.gradients._refusals import check_is_module, checked_aggregator
from ilc.gradients._unused_gradients import note_filled, warn_of_unused
from ilc.gradients._ways.of_losses import Loss


@dataclass(frozen=True)
class BackwardResult:
    """What one call of ``backward`` saw.

    Attributes:
        risks: the risk of each environment, ``[E]``, detached; ``[1]`` for ``pooled``.
        penalties: what an ``Objective`` adds to each risk, ``[E]``, unscaled; zero for other losses.
        kept_share: the share of kept components of each trainable parameter, as 0-d tensors by name.
            ``ilc.aggregators.Combined`` says what is counted. They stay on the device, because reading one
            would wait for the device.
        overall_kept_share: the share of kept components over all trainable parameters, a 0-d tensor.
    """

    risks: Tensor
    penalties: Tensor
    kept_share: dict[str, Tensor]
    overall_kept_share: Tensor


def backward(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch = None,
    targets: Batch = None,
    aggregator: Aggregator | None = None,
    gradients: str = "vectorized",
) -> BackwardResult:
    """Fill ``.grad`` of every trainable parameter with the aggregated environment gradients.

    The call overwrites ``.grad``, so no ``zero_grad`` is needed. It warns if no optimizer step has used what
    it overwrites, or if the aggregator has one environment and so nothing to compare. ``ilc.accumulate``
    collects environments over several calls. A trainable parameter that the risk does not reach gets a zero
    gradient. Frozen parameters do not change.

    Args:
        model: called with one environment's inputs ``[N, ...]``: ``model(x)``, ``model(*x)`` for a tuple,
            ``model(**x)`` for a dictionary.
        loss_fn: ``loss_fn(outputs, targets)``, or ``loss_fn(outputs)`` without targets, the mean risk of one
            environment. It may return an ``Objective`` instead: its loss is differentiated, its risk and
            penalty are reported. A list with one loss per environment stands for loss and batch: scalars
            with their graphs, or functions without arguments that return them.
        inputs: a tensor ``[E, N, ...]``, or a dictionary or tuple of such tensors, or a list with an entry
            per environment, whatever the model takes (a tensor ``[N_e, ...]``, a dictionary, a graph). Values
            that are no tensors, such as None, are passed on as they are. Each environment weighs the same.
            ``vectorized`` takes all environments of one size at once.
        targets: like the inputs, and given to ``loss_fn`` as they are; None if ``loss_fn`` takes none.
        aggregator: how the E gradients become one update; always needed.
        gradients: ``vectorized`` (fast; for a mean it costs as much as plain training) and ``sequential``
            (memory independent of E) give the same numbers.
            ``pooled`` makes one batch of all environments. It works for the mean only, and BatchNorm
            then mixes the environments.
            The other three need N = 1 and make one forward pass for all examples. They are equal unless
            BatchNorm mixes the examples: ``per_example`` (gradient of the example's own risk, with batch
            statistics followed one layer; ``example_local``), ``per_example_share`` (the example's part of
            the batch gradient; ``example_share``) and ``per_example_loss`` (gradient of the example's own
            risk, exact, N backward passes; ``example_loss``).

    Raises:
        UserError: shapes or nests do not match, E = 0 or N = 0, the way is unknown, the model cannot be
            differentiated this way, or the model carries something other than buffers from one pass to
            the next.
    """
    aggregator = checked_aggregator(aggregator, inputs, targets)
    votes = uses_votes(model, aggregator, gradients)
    found = gradients_of_step(model, loss_fn, inputs, targets, aggregator, gradients, votes=votes)
    warn_of_unused(model, inputs)
    result = combined(model, found, aggregator)
    note_filled(model, inputs)
    return result


def uses_votes(model: nn.Module, aggregator: Aggregator, gradients: str) -> bool:
    """Whether a step needs the votes.

    A mean uses none, and the votes of all examples would cost as much as the mean itself. In half precision
    the examples' gradients are added up one by one in any case.
    """
    if not (aggregator.is_mean and gradients in PER_EXAMPLE):
        return True
    check_is_module(model)
    return any(is_narrow(p.dtype) for p in model.parameters())


def combined(model: nn.Module, gradients: EnvironmentGradients, aggregator: Aggregator) -> BackwardResult:
    """Make one update of the statistics and put it into ``.grad``: the second half of ``backward``.

    Args:
        model: the model whose ``.grad`` is overwritten.
        gradients: what ``environment_gradients`` returned for this model and aggregator. Its statistics are
            used up, so a second call needs new ones.
        aggregator: how the E gradients become one update.

    Returns:
        The risks, the penalties and the kept shares, as from ``backward``.
    """
    risks, statistics, penalties = gradients
    warn_of_one_environment(aggregator, statistics)
    kept_share: dict[str, Tensor] = {}
    kept = torch.zeros((), device=risks.device)
    size = 0
    parameters = dict(model.named_parameters())
    for name in list(statistics):
        # What is no longer needed is freed first: its memory is in the cache, and new memory is slow.
        parameters[name].grad = None
        update, share = combine_checked(aggregator, statistics.pop(name))
        parameters[name].grad = update.to(parameters[name].dtype)
        call_hooks(parameters[name])
        kept_share[name] = share
        kept += share * update.numel()
        size += update.numel()
    penalties = torch.zeros_like(risks) if penalties is None else penalties
    return BackwardResult(risks, penalties, kept_share, kept / size)


def call_hooks(p: Tensor) -> None:
    """Call the post-accumulate hooks, as ``loss.backward()`` does once ``.grad`` is filled."""
    for hook in list((p._post_accumulate_grad_hooks or {}).values()):
        hook(p)
