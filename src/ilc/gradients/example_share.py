"""One vote per example from a single backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.hooks import RemovableHandle

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients.environment import EnvironmentGradients, trainable_parameters
from ilc.gradients.example_objectives import example_objectives
from ilc.gradients.layer_shares import RULES, Shares
from ilc.objectives import ObjectiveFunction

Collect = Callable[[nn.Module, Tensor, Tensor], None]

# Shares held at once, in bytes: few enough to stay in a CPU's cache.
_BYTES_AT_ONCE = 4 * 2**20


def example_share(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, with_logs: bool = False
) -> EnvironmentGradients:
    """Let every example vote with its share of the batch gradient.

    For the risk ``R = sum_i r_i`` of a batch and a layer with input ``x_i`` and output gradient
    ``delta_i = dR / dy_i``, the gradient of the layer's weight is a sum over examples; example i's
    share is its term, for a linear layer ``delta_i x_i^T``. Shares sum to the batch gradient.

    Where examples do not mix (GroupNorm, LayerNorm, no norm) the share is the gradient of the
    example's own risk. Under BatchNorm in training mode it is not: ``delta_i`` then holds what
    changing ``y_i`` does to all examples through the batch statistics, whereas ``example_loss``
    holds what all of ``y`` does to example i. Both sum to the same batch gradient.

    Beyond a plain step it needs memory for the statistics, twice the parameters, and for a few
    shares at a time. Weight gradients are not computed a second time, parameters and their hooks
    are left as they were, and BatchNorm's running statistics move once, as in a plain step.
    Works with frozen parameters and under autocast.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        with_logs: gather the sums of logs too.

    Raises:
        UserError: a layer without a rule, a layer used twice or not at all, shared parameters, a
            compiled model, more than one example per environment.
    """
    trainable = trainable_parameters(model)
    layers = _layers(model, trainable)
    n = len(inputs)
    statistics: dict[str, GradientStatistics] = {}
    leaves: list[Tensor] = []

    def collect(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        shares = RULES[type(layer)](layer, x, delta)
        for key, name in layers[layer].items():
            statistics[name] = _reduce(shares[key], trainable[name], n, with_logs)

    with _watched(layers, collect, leaves):
        frozen_copy = {name: p.detach() for name, p in model.named_parameters()}
        outputs = functional_call(model, frozen_copy, (inputs.flatten(0, 1),))
        objectives = example_objectives(loss_fn, outputs, targets)
        # The weights carry no gradient in this pass: what starts it are the first layers' outputs.
        torch.autograd.grad(objectives.loss.sum(), leaves, allow_unused=True)
    for name, p in trainable.items():
        if name not in statistics:  # Called, but the risk does not reach it: no vote.
            statistics[name] = GradientStatistics.zeros(p, with_logs)
            statistics[name].n_environments = n
    ordered = {name: statistics[name] for name in trainable}
    return EnvironmentGradients(objectives.risk.detach(), ordered, objectives.penalty.detach())


def _reduce(shares: Shares, parameter: Tensor, n: int, with_logs: bool) -> GradientStatistics:
    """Sum the shares of all examples, a few at a time, in the rule's own layout."""
    bytes_per_example = (parameter.numel() + shares.extra) * parameter.element_size()
    few = min(n, max(2, _BYTES_AT_ONCE // bytes_per_example))
    rows = shares.of(slice(0, few)).to(parameter.dtype)
    statistics = GradientStatistics.zeros(rows[0], with_logs)
    _add_and_overwrite(statistics, rows)
    for start in range(few, n, few):
        _add_and_overwrite(statistics, shares.of(slice(start, start + few)).to(parameter.dtype))
    statistics.total = shares.restore(statistics.total)
    statistics.sign_sum = shares.restore(statistics.sign_sum)
    if statistics.log_sum is not None:
        statistics.log_sum = shares.restore(statistics.log_sum)
    return statistics


def _add_and_overwrite(statistics: GradientStatistics, rows: Tensor) -> None:
    """What ``statistics.add_(rows)`` does, a quarter cheaper because ``rows`` may be spoilt.

    A product with a vector of ones sums over the first axis in one pass over the memory.
    """
    if rows.dtype not in (torch.float32, torch.float64) or not rows.is_contiguous():
        statistics.add_(rows)
        return
    statistics.n_environments += len(rows)
    columns, ones = rows.view(len(rows), -1).T, rows.new_ones(len(rows))
    if statistics.log_sum is not None:
        statistics.log_sum.view(-1).addmv_(columns.abs().log_(), ones)
    statistics.total.view(-1).addmv_(columns, ones)
    statistics.sign_sum.view(-1).addmv_(columns.sign_(), ones)


def _layers(model: nn.Module, trainable: dict[str, nn.Parameter]) -> dict[nn.Module, dict[str, str]]:
    """Layers with trainable parameters of their own: their keys and the parameters' full names."""
    if hasattr(model, "_orig_mod"):
        raise UserError(
            "example_share cannot look inside a compiled model: give the one before torch.compile"
        )
    layers: dict[nn.Module, dict[str, str]] = {}
    owners: dict[int, str] = {}
    for path, layer in model.named_modules():
        own = {key: p for key, p in layer.named_parameters(recurse=False) if p.requires_grad}
        if not own:
            continue
        where = f"{path or 'the model'} ({type(layer).__name__})"
        if type(layer) not in RULES:
            known = ", ".join(kind.__name__ for kind in RULES)
            raise UserError(
                f"example_share has no rule for {where}: use gradients='per_example_loss', freeze "
                f"the layer, or build it from {known}"
            )
        for p in own.values():
            if id(p) in owners:
                raise UserError(
                    f"{where} shares a parameter with {owners[id(p)]}, so neither has a share of its own: "
                    "use gradients='per_example_loss'"
                )
            owners[id(p)] = where
        prefix = f"{path}." if path else ""
        layers[layer] = {key: prefix + key for key in own}
    assert sum(map(len, layers.values())) == len(trainable)
    return layers


@contextmanager
def _watched(
    layers: dict[nn.Module, dict[str, str]], collect: Collect, leaves: list[Tensor]
) -> Iterator[None]:
    """Call ``collect(layer, input, output gradient)`` for each layer as the backward pass gets there."""
    called: set[nn.Module] = set()

    def watch(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
        name = next(iter(layers[layer].values())).rpartition(".")[0] or "the model"
        if layer in called:
            raise UserError(
                f"{name} ({type(layer).__name__}) is used twice in one pass, so its shares cannot be told "
                "apart: use gradients='per_example_loss', or give each use a layer of its own"
            )
        called.add(layer)
        x = arguments[0].detach()
        if not output.requires_grad:
            leaves.append(output.detach().requires_grad_())
            # A copy, because the network may go on to change it in place, which a leaf forbids.
            output = leaves[-1].clone()
        output.register_hook(lambda delta: collect(layer, x, delta))  # type: ignore[no-untyped-call]
        return output

    handles: list[RemovableHandle] = [layer.register_forward_hook(watch) for layer in layers]
    try:
        yield
        missing = [names for layer, names in layers.items() if layer not in called]
        if missing:
            name = next(iter(missing[0].values())).rpartition(".")[0]
            raise UserError(
                f"{name} has trainable parameters but was not called as a layer in this pass, so its shares "
                "are unknown: freeze it, call it, or use gradients='per_example_loss'"
            )
    finally:
        for handle in handles:
            handle.remove()
