"""What a pass may change outside of the model: in the loss and in global variables."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from torch import nn

from ilc.gradients._trials.containers import Globals, identity
from ilc.gradients._trials.held_state import HeldState, containers_of_module
from ilc.gradients._trials.nested_containers import is_of_a_program, methods_of


class StateBeside(HeldState):
    """What a loss holds, and the global variables that the loss and the model's methods and hooks name.

    What belongs to ``parts`` is left out: to the modules of the model and of a loss that is a module.
    """

    def __init__(self, loss_fn: Any, parts: nn.Module, with_parameters: bool = False) -> None:
        super().__init__(with_globals=True, with_parameters=with_parameters)
        self._loss_fn, self._parts = loss_fn, parts
        modules = list(parts.modules())
        for module in modules:
            self._visited |= {
                identity(container) for container in containers_of_module(module, with_buffers=True)
            }
        self._add_inside("loss_fn", loss_fn, 0)
        hooks = (
            hook
            for module in modules
            for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
        )
        kinds = dict.fromkeys(type(part) for part in (*modules, getattr(loss_fn, "__self__", loss_fn)))
        methods = (method for kind in kinds for method in methods_of(kind))
        for function in (*hooks, *methods):
            known = not isinstance(function, FunctionType) or not is_of_a_program(function)
            if not known and self._is_new(Globals(function)):
                self._add("", Globals(function))

    def saved_now(self) -> StateBeside:
        """Save what the same loss and the same global variables hold at present."""
        return StateBeside(self._loss_fn, self._parts, self._with_parameters)
