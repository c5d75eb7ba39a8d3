"""A model as a function that ``torch.func`` can map over environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ilc._precision import as_autocast_would, wide_type
from ilc.errors import UserError
from ilc.gradients._environment import checked_objective
from ilc.gradients._passes.calls import arguments_of, value_of
from ilc.gradients._passes.mean_of_buffers import (
    change_of,
    check_still_one,
    has_moved,
    is_continuous,
    mean_of,
    overlapping,
    where_moved,
)
from ilc.gradients._tensor_tree import Values
from ilc.objectives import Objective, ObjectiveFunction


def one_environment(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    check: Callable[[Tensor | Objective], Objective] = checked_objective,
) -> Callable[..., Any]:
    """The loss of one environment as a function of parameters, buffers, inputs and targets.

    The function also returns the detached risk and penalty, the buffers after the pass, and the loss again,
    for ``check_nothing_left_out``.
    """
    step = _Step(model, loss_fn)
    frozen = {name: p for name, p in model.named_parameters() if not p.requires_grad}
    # Each module occurs once even if it has several names. Swapped twice, it would not be put back.
    names: dict[int, list[str]] = {}
    for path, module in model.named_modules():
        for key, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                names.setdefault(id(tensor), []).append(f"{path}.{key}".lstrip("."))
    of_buffers = {name for name, _ in model.named_buffers()}
    shared = [every for every in names.values() if len(every) > 1 and every[0] in of_buffers]

    def losses(
        trainable: dict[str, Tensor], state: dict[str, Tensor], x: Values, y: Values
    ) -> tuple[Tensor, tuple[Tensor, Tensor, dict[str, Tensor], Tensor]]:
        every_tensor = {**frozen, **trainable, **state}
        tensors = {_IN_STEP + name: every_tensor[every[0]] for every in names.values() for name in every}
        value = functional_call(step, tensors, (x, y), tie_weights=False)
        loss, risk, penalty = check(value)
        for every in shared:
            check_still_one({name: tensors[_IN_STEP + name] for name in every})
        # functional_call has put new values into the dictionary, whether written in place or assigned.
        after = {name: tensors[_IN_STEP + name].detach() for name in state}
        return loss, (risk.detach(), penalty.detach(), after, loss)

    return losses


class _Step(nn.Module):
    """Model and loss in one call, so that a loss that reaches into the model finds the same parameters."""

    def __init__(self, model: nn.Module, loss_fn: ObjectiveFunction) -> None:
        super().__init__()
        self.model, self._loss = model, (loss_fn,)  # A module in a tuple is no part of this one.

    def __call__(self, x: Values, y: Values) -> Any:  # No hook for all modules is called for this one.
        arguments, keywords = arguments_of(x)
        return value_of(self._loss[0], as_autocast_would(self.model(*arguments, **keywords)), y)


_IN_STEP = "model."


class LeftOutError(UserError):
    """Something that is differentiated reaches a risk in a way that ``torch.func`` leaves out."""


def check_nothing_left_out(losses: Tensor) -> None:
    """Raise LeftOutError if losses, whose parameters had no graph, have one all the same.

    Args:
        losses: as ``one_environment`` returns them beside the states.
    """
    if losses.requires_grad:
        raise LeftOutError(
            "the risk reaches a parameter in a way that torch.func leaves out, such as a list in which "
            "model or loss keep parameters: use gradients='sequential'"
        )


def over_environments(
    function: Callable[..., Any], model: nn.Module, own_parameters: bool = False
) -> Callable[..., Any]:
    """Map ``one_environment``, or its gradient, over inputs ``[E, N, ...]``.

    With ``own_parameters`` every environment has parameters of its own, ``[E, ...]``.
    """
    state_axis = 0 if model.training else None
    # torch annotates out_dims as flat, but documents and accepts nested ones.
    out_dims: Any = (0, (0, 0, state_axis, 0))
    return vmap(
        function,
        in_dims=(0 if own_parameters else None, state_axis, 0, 0),
        out_dims=out_dims,
        randomness="different",
    )


def state_of(model: nn.Module, n_environments: int) -> dict[str, Tensor]:
    """The buffers; in training mode a copy per environment, because BatchNorm writes them in place."""
    if not model.training:
        return dict(model.named_buffers())
    return {name: b.expand(n_environments, *b.shape).clone() for name, b in model.named_buffers()}


def keep_mean_of_buffers(model: nn.Module, states: list[dict[str, Tensor]]) -> None:
    """Set each buffer to its mean over the environments; ``states`` holds the values ``[E, ...]``.

    Raises:
        UserError: a buffer changes and shares its memory with another.
    """
    means, entangled = {}, overlapping(model.buffers())
    for name, buffer in model.named_buffers():
        per_environment = torch.cat([state[name] for state in states])
        if id(buffer) in entangled and bool((per_environment != buffer).any()):
            raise UserError(
                f"the forward pass changes the buffer {name}, which shares its memory with another buffer, "
                "but gradients='vectorized' gives every environment a separate copy of each: use "
                "gradients='sequential'"
            )
        if is_continuous(buffer):
            mean = per_environment.mean(0, dtype=wide_type(buffer.dtype))
            means[name] = where_moved(has_moved(buffer, per_environment).any(0), buffer, mean)
        else:
            changes = change_of(buffer, per_environment)
            means[name] = mean_of(buffer, changes.sum(0), len(per_environment))
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            buffer.copy_(means[name])
