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

# Elements of shares held at once. On a CPU they stay in its cache, on a GPU they keep it busy.
_ELEMENTS_AT_ONCE = {False: 2**20, True: 2**26}

# From as many on the sums, read and written once for all of them, no longer count beside the shares.
_ENOUGH_EXAMPLES = 16


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
    """Sum the shares of all examples, a few examples and rows at a time."""
    budget = _ELEMENTS_AT_ONCE[parameter.device.type == "cuda"]
    row = parameter.numel() // shares.n_rows
    fitting = min(_ENOUGH_EXAMPLES, budget // max(row, shares.extra))
    few = min(n, max(2, fitting, budget // (parameter.numel() + shares.extra)))
    rows = min(shares.n_rows, max(1, budget // (few * row)))
    scratch = parameter.new_empty(few * rows * row if shares.n_rows > 1 else 0)
    statistics = GradientStatistics.zeros(parameter.detach().flatten(), with_logs)
    statistics.n_environments = n
    for start in range(0, n, few):
        rows_of = shares.of(slice(start, start + few))
        for first in range(0, shares.n_rows, rows):
            votes = rows_of(slice(first, first + rows), scratch).to(parameter.dtype).flatten(1).contiguous()
            _add_and_overwrite(statistics, slice(first * row, first * row + votes.shape[1]), votes)

    def restored(total: Tensor) -> Tensor:
        return shares.restore(total).view(parameter.shape)

    statistics.total, statistics.sign_sum = restored(statistics.total), restored(statistics.sign_sum)
    if statistics.log_sum is not None:
        statistics.log_sum = restored(statistics.log_sum)
    return statistics


def _add_and_overwrite(statistics: GradientStatistics, where: slice, votes: Tensor) -> None:
    """Add votes ``[E, columns]`` to that part of the flat sums, spoiling them.

    Sums over the first axis are products with ones: one pass over the memory, two columns side by
    side, because such a product keeps only one of a CPU's cores busy.
    """
    sides = 2 if votes.shape[1] % 2 == 0 else 1
    columns = votes.view(len(votes), sides, -1).transpose(0, 1)
    if statistics.log_sum is not None:
        _add_sum(statistics.log_sum[where], columns.abs().log_())
    _add_sum(statistics.total[where], columns)
    votes.sign_()
    _add_sum(statistics.sign_sum[where], columns)


def _add_sum(total: Tensor, columns: Tensor) -> None:
    """Add ``[sides, E, columns]``, summed over E; in the total's type, which may be wider."""
    columns = columns.to(total.dtype)
    ones = columns.new_ones(1, 1, columns.shape[1]).expand(len(columns), -1, -1)
    total.view(len(columns), 1, -1).baddbmm_(ones, columns)


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
