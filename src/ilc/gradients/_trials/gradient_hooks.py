"""What a user has put into the backward pass that ``torch.func`` would not see."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules import module as torch_modules


def what_acts_on_gradients(model: nn.Module) -> str | None:
    """What acts on gradients in a backward pass, in words; None if nothing does.

    ``torch.func`` would leave it out, or would apply it to all environments at once.
    """
    modules: list[Any] = list(model.modules())
    every = torch_modules._global_backward_hooks or torch_modules._global_backward_pre_hooks
    if every or any(module._backward_hooks or module._backward_pre_hooks for module in modules):
        return "hooks act on gradients"
    if any(p._backward_hooks for p in model.parameters()):
        return "hooks act on gradients"
    if any(getattr(module, "scale_grad_by_freq", False) is True for module in modules):
        return "scale_grad_by_freq counts indices in each batch"
    return None
