"""What a user has put into the backward pass that ``torch.func`` would not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn.modules import module as torch_modules
from torch.overrides import TorchFunctionMode


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


class HooksInPass(TorchFunctionMode):
    """Surrounds a pass and sees whether it puts hooks on tensors, as ``h.register_hook(clip)`` does.

    In a pass of all environments or examples such a hook gets the gradient of all of them. Its effect is that
    of a plain loop only if they pass one after another.

    Attributes:
        found: whether a hook was put on a tensor.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the function as it is called without this mode."""
        self.found = self.found or func is Tensor.register_hook
        return func(*args, **(kwargs or {}))
