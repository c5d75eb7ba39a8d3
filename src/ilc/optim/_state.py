"""What optimizers remember of each parameter: float32 or wider, and checked when it is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from ilc._precision import wide_type
from ilc.errors import UserError


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    # Schedules make numpy's numbers, so these count. Truth values do not.
    return isinstance(value, Real) and value is not True and value is not False and math.isfinite(value)


def check_at_least_zero(group: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise UserError for the first of these options that is not a finite number of at least 0."""
    for name in names:
        if not is_number(group[name]) or group[name] < 0:
            raise UserError(f"{name} must be a finite number of at least 0, got {group[name]!r}")


def check_left_out(optimizer: str, group: dict[str, Any], names: Sequence[str], remark: str = "") -> None:
    """Raise UserError if a parameter group asks for an option of ``torch.optim.Adam`` that is not here.

    Else the option would be ignored, and with ``maximize`` the step would go the other way.
    """
    for name in names:
        if group.get(name):
            raise UserError(f"{optimizer} has no option {name}, got {group[name]!r}: leave it out{remark}")


def check_betas(betas: Any, n: int) -> None:
    """Raise UserError unless these are ``n`` numbers in [0, 1)."""
    # A list may come from a config file.
    valid = isinstance(betas, (tuple, list)) and len(betas) == n
    if not valid or not all(is_number(beta) and 0 <= beta < 1 for beta in betas):
        words = "two numbers in [0, 1): beta_1 and beta_2"
        if n == 3:
            words = "three numbers in [0, 1): beta_1, beta_2 and beta_3"
        raise UserError(f"betas must be {words}, got {betas!r}")


def check_trained(optimizer: str, params: Sequence[Any]) -> None:
    """Raise UserError for parameters that are not real numbers."""
    for p in params:
        if isinstance(p, Tensor) and not p.is_floating_point():
            raise UserError(
                f"{optimizer} trains only real parameters, got one of {p.dtype}: store a complex parameter "
                "as a real one, see torch.view_as_real"
            )


def check_gradient(optimizer: str, gradient: Tensor) -> None:
    """Raise UserError for a sparse gradient."""
    if gradient.layout != torch.strided:
        raise UserError(
            f"{optimizer} needs dense gradients, got a sparse one: use sparse=False in embeddings"
        )


def memory_of(p: Tensor) -> Tensor:
    """Zeros in a parameter's shape, in float32 or wider: in half precision a moving average stops early."""
    return torch.zeros_like(p, dtype=wide_type(p.dtype), requires_grad=False)


def check_state(
    optimizer: torch.optim.Optimizer, given: Mapping[str, Any], names: Sequence[str], options: Sequence[str]
) -> None:
    """Raise UserError unless a state dictionary is one of this kind of optimizer for these parameters.

    Args:
        optimizer: the optimizer that will load it.
        given: the argument of its ``load_state_dict``.
        names: what is remembered of each parameter besides ``step``, in the parameter's shape.
        options: the options of each group.
    """
    kind = type(optimizer).__name__
    if not isinstance(given, Mapping) or not {"state", "param_groups"} <= given.keys():
        raise UserError(f"{kind} can load only the state that its state_dict() returned, got something else")
    sizes = [len(group["params"]) for group in optimizer.param_groups]
    found = [len(group["params"]) for group in given["param_groups"]]
    if sizes != found:
        raise UserError(
            f"the state has groups of {found} parameters, but {kind} has groups of {sizes}: load the state "
            "of an optimizer with the same groups"
        )
    for group in given["param_groups"]:
        missing = sorted(set(options) - group.keys())
        if missing:
            raise UserError(
                f"the state was not saved by {kind}, because its groups have no option {missing[0]!r}: load "
                f"a state of {kind}"
            )
    for key, p in _by_key(optimizer, given).items():
        state = given["state"].get(key)
        if not state:
            continue
        if set(state) != {*names, "step"}:
            raise UserError(
                f"the state was not saved by {kind}, which stores {', '.join(names)} for each parameter, got "
                f"{', '.join(map(str, state))}: load a state of {kind}"
            )
        for name in names:
            if not isinstance(state[name], Tensor) or state[name].shape != p.shape:
                raise UserError(
                    f"the state's {name} has another shape than its parameter, which has the shape "
                    f"{tuple(p.shape)}: load a state of the same model"
                )


def keep_wide(optimizer: torch.optim.Optimizer, given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Undo what torch does to a loaded state: it rounds to the parameter's type and shares tensors."""
    for key, p in _by_key(optimizer, given).items():
        if not given["state"].get(key):
            continue
        state = optimizer.state[p]
        state["step"] = torch.as_tensor(state["step"]).clone()
        for name in names:
            value = given["state"][key][name].detach()
            state[name] = value.to(p.device, wide_type(p.dtype), copy=True)


def _by_key(optimizer: torch.optim.Optimizer, given: Mapping[str, Any]) -> dict[Any, Tensor]:
    """The parameters by their keys in the state."""
    keys = [key for group in given["param_groups"] for key in group["params"]]
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return dict(zip(keys, parameters, strict=True))
