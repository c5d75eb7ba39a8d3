"""Many environments in one pass: the fastest way, at the memory of a few gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from ilc._precision import as_autocast_would, wide_type, widened
from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients._environment import EnvironmentGradients, checked_objective, trainable_parameters
from ilc.gradients._passes.mean_of_buffers import (
    change_of,
    check_still_one,
    is_continuous,
    mean_of,
    overlapping,
)
from ilc.gradients._trials.choose_way import chosen
from ilc.gradients._ways.by_layers import by_layers
from ilc.objectives import Objective, ObjectiveFunction

# Gradients held at once, in bytes. A CPU is fastest while they stay in its cache (1.3 times on a
# 3 x 256 perceptron); an accelerator wants as many environments in one launch as memory allows.
_BYTES_AT_ONCE = {"cpu": 10 * 2**20}
_BYTES_AT_ONCE_ON_ACCELERATORS = 2**30


def vectorized(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Differentiate the risks of many environments at once: by layers where that is the same, else by vmap.

    A model of linear layers, embeddings and LayerNorm that mixes no examples goes ``by_layers``, on a CPU
    at a fraction of the cost. What is right is tried out on two environments against a plain loop, when model
    and loss are first met and when they are no longer what they were (``chosen``). What ``torch.func`` would
    leave out, such as hooks on gradients, goes one environment after another.

    BatchNorm in training mode behaves as in ``sequential``: each environment is normalised by its
    own batch statistics and the running statistics end as the mean over environments. Dropout
    draws an independent mask per environment and example, but not the same draws as ``sequential``.

    Raises:
        UserError: no trainable parameter, or a risk that is no scalar or reaches none.
    """
    way = chosen(model, loss_fn, inputs, targets, by_vmap, by_layers)
    return way(model, loss_fn, inputs, targets, also)


def by_vmap(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """``vectorized`` for any model that ``torch.func`` can follow.

    Raises:
        UserError: as ``vectorized``.
    """
    parameters = {name: p.detach() for name, p in trainable_parameters(model).items()}
    differentiate = over_environments(grad(one_environment(model, loss_fn), has_aux=True), model)
    statistics = {name: GradientStatistics.zeros(p, also) for name, p in parameters.items()}
    risks, penalties, states = [], [], []
    n_passes = _passes(parameters, inputs)
    for x, y in zip(inputs.tensor_split(n_passes), targets.tensor_split(n_passes), strict=True):
        gradients, (risk, penalty, state) = differentiate(parameters, state_of(model, len(x)), x, y)
        for name, gradient in gradients.items():
            statistics[name].add_(gradient)
        risks.append(risk)
        penalties.append(penalty)
        states.append(state)
    if model.training:
        keep_mean_of_buffers(model, states)
    return EnvironmentGradients(widened(torch.cat(risks)), statistics, widened(torch.cat(penalties)))


def one_environment(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    check: Callable[[Tensor | Objective], Objective] = checked_objective,
) -> Callable[..., Any]:
    """The loss of one environment as a function of parameters, buffers, inputs and targets.

    Beside it come the detached risk and penalty, and the buffers as the model left them.
    """
    frozen = {name: p for name, p in model.named_parameters() if not p.requires_grad}
    # Each module once, whatever the number of its names: swapped twice, it would not be put back.
    names: dict[int, list[str]] = {}
    for path, module in model.named_modules():
        for key, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                names.setdefault(id(tensor), []).append(f"{path}.{key}".lstrip("."))
    of_buffers = {name for name, _ in model.named_buffers()}
    shared = [every for every in names.values() if len(every) > 1 and every[0] in of_buffers]

    def losses(
        trainable: dict[str, Tensor], state: dict[str, Tensor], x: Tensor, y: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor, dict[str, Tensor]]]:
        tensors = {**frozen, **trainable, **state}
        tensors = {name: tensors[every[0]] for every in names.values() for name in every}
        outputs = as_autocast_would(functional_call(model, tensors, (x,), tie_weights=False))
        loss, risk, penalty = check(loss_fn(outputs, y))
        for every in shared:
            check_still_one({name: tensors[name] for name in every})
        # Written in place or assigned anew: functional_call has put both back into the dictionary.
        return loss, (risk.detach(), penalty.detach(), {name: tensors[name].detach() for name in state})

    return losses


def over_environments(
    function: Callable[..., Any], model: nn.Module, own_parameters: bool = False
) -> Callable[..., Any]:
    """``one_environment``, or its gradient, for inputs ``[E, N, ...]`` at once.

    With ``own_parameters`` they come as ``[E, ...]`` too.
    """
    state_axis = 0 if model.training else None
    # torch annotates out_dims as flat, but documents and accepts nests like this one.
    out_dims: Any = (0, (0, 0, state_axis))
    return vmap(
        function,
        in_dims=(0 if own_parameters else None, state_axis, 0, 0),
        out_dims=out_dims,
        randomness="different",
    )


def _passes(parameters: dict[str, Tensor], inputs: Tensor) -> int:
    """In how many passes to go through the environments."""
    bytes_per_environment = sum(p.numel() * p.element_size() for p in parameters.values())
    budget = _BYTES_AT_ONCE.get(inputs.device.type, _BYTES_AT_ONCE_ON_ACCELERATORS)
    return min(len(inputs), math.ceil(len(inputs) * bytes_per_environment / budget))


def state_of(model: nn.Module, n_environments: int) -> dict[str, Tensor]:
    """The buffers; in training a copy per environment, for BatchNorm writes them in place."""
    if not model.training:
        return dict(model.named_buffers())
    return {name: b.expand(n_environments, *b.shape).clone() for name, b in model.named_buffers()}


def keep_mean_of_buffers(model: nn.Module, states: list[dict[str, Tensor]]) -> None:
    """Set each buffer to its mean over the environments, whose own ``[E, ...]`` are in ``states``.

    Raises:
        UserError: a buffer that changes shares memory with another.
    """
    means, entangled = {}, overlapping(model.buffers())
    for name, buffer in model.named_buffers():
        per_environment = torch.cat([state[name] for state in states])
        if id(buffer) in entangled and bool((per_environment != buffer).any()):
            raise UserError(
                f"the forward pass changes the buffer {name}, whose memory another buffer has too, and "
                "gradients='vectorized' gives every environment a copy of each: use gradients='sequential'"
            )
        if is_continuous(buffer):
            means[name] = per_environment.mean(0, dtype=wide_type(buffer.dtype))
        else:
            changes = change_of(buffer, per_environment)
            means[name] = mean_of(buffer, changes.sum(0), len(per_environment))
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            buffer.copy_(means[name])
