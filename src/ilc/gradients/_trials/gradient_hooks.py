"""What a user has put into the backward pass that ``torch.func`` would not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules
from torch.overrides import TorchFunctionMode

HOOKS_ON_TENSORS = "hooks on tensors act on gradients"
COUNTS = "scale_grad_by_freq counts indices in each batch"
_COUNTING: dict[Callable[..., Any], int] = {
    F.embedding: 5,
    F.embedding_bag: 5,
    torch.embedding: 3,
    torch.embedding_bag: 3,
}
"""Functions that may divide gradients by counts, with the place of the argument that says so."""


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
        return COUNTS
    return None


class HooksInPass(TorchFunctionMode):
    """Surrounds a pass and sees whether it puts hooks on tensors, as ``h.register_hook(clip)`` does.

    It sees look-ups with ``scale_grad_by_freq=True`` too. In a pass of all environments or examples such a
    hook gets the gradient of all of them, and such a look-up counts all indices. The effect is that of a
    plain loop only if they pass one after another.

    Attributes:
        found: what acts on gradients, in words; None if nothing was seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: str | None = None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the function as it is called without this mode."""
        given = kwargs or {}
        if func is Tensor.register_hook:
            self.found = HOOKS_ON_TENSORS
        elif func in _COUNTING:
            place = _COUNTING[func]
            if given.get("scale_grad_by_freq", args[place] if len(args) > place else False) is True:
                self.found = self.found or COUNTS
        return func(*args, **given)
