"""What a pass may change outside of the model: in the loss and in global variables."""

from __future__ import annotations

from threading import active_count
from types import FunctionType
from typing import Any

from torch import nn

from ilc.gradients._trials.containers import ClassVariables, Globals, identity, items_of
from ilc.gradients._trials.held_state import Budget, HeldState, containers_of_module
from ilc.gradients._trials.held_values import SavedValue
from ilc.gradients._trials.nested_containers import classes_of, is_of_a_program, methods_of

_MOST_VALUES = 10_000
_MOST_ELEMENTS = 2**24
"""A loss may be a method of a trainer, which holds all data. Beyond these limits nothing is looked at."""


class StateBeside(HeldState):
    """What a loss holds, and what the methods of loss and model share: class and global variables.

    What belongs to ``parts`` is left out: to the modules of the model and of a loss that is a module. Nothing
    is looked at in installed libraries, in imported modules and beyond the limits.
    """

    def __init__(self, loss_fn: Any, parts: nn.Module) -> None:
        super().__init__(with_globals=True, with_parameters=True, budget=Budget(_MOST_VALUES, _MOST_ELEMENTS))
        modules = list(parts.modules())
        of_modules = (containers_of_module(module, with_buffers=True) for module in modules)
        self._visited = {identity(container) for several in of_modules for container in several}
        self._add_inside("loss_fn", loss_fn, 0)
        for module in modules:
            for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values()):
                if isinstance(hook, FunctionType) and is_of_a_program(hook):
                    self._add_once("", Globals(hook))
        for kind in dict.fromkeys(type(part) for part in (*modules, getattr(loss_fn, "__self__", loss_fn))):
            for base in classes_of(kind):
                self._add_once(base.__name__, ClassVariables(base))
            for method in filter(is_of_a_program, methods_of(kind)):
                self._add_inside(f"{kind.__name__}.{method.__name__}", method, 0)

    def _add_once(self, path: str, container: Any) -> None:
        if self._is_new(container):
            self._add(path, container)

    def restore_changed(self) -> None:
        """Do the same, but leave everything alone that ``forget_unchanged`` would forget."""
        threads = active_count() > 1
        for held in self._held:
            if held.changed() and not (threads and held.only_grew()):
                held.restore()

    def again(self) -> HeldState:
        """Save what the same containers hold at present, and no others."""
        found = HeldState()
        for held in self._held:
            contents = {key: SavedValue.of(value, _MOST_ELEMENTS) for key, value in items_of(held.container)}
            found._held.append(held._replace(contents=contents))
        return found
