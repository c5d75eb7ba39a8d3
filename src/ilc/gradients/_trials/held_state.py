"""Everything that modules and losses remember besides parameters and, in training mode, a model's buffers."""

from __future__ import annotations

import math
from collections import deque
from threading import active_count
from typing import Any, NamedTuple

from torch import nn

from ilc.gradients._trials.containers import (
    Attributes,
    Buffers,
    Parameters,
    Path,
    identity,
    items_of,
    joined_name,
    name_of,
    put_back,
)
from ilc.gradients._trials.held_values import SavedValue, has_left_vmap, is_array
from ilc.gradients._trials.nested_containers import containers_in, is_plainly_held
from ilc.gradients._trials.random_numbers import Generator, is_generator

_DEEPEST = 5
"""So many containers inside each other are searched: lists of lists, objects in hooks and so on."""


class Budget:
    """How much may be saved: a loss may reach a trainer with all its data, which no pass writes."""

    def __init__(self, values: float = math.inf, elements: float = math.inf) -> None:
        self.values, self.elements = values, elements


class Held(NamedTuple):
    """A container with what it held.

    Attributes:
        path: the name of the container, or what its name is made of.
        container: the container.
        contents: what it held.
        strict: whether a change is refused though nobody reads it. It is where a later pass may well do so.
    """

    path: Path
    container: Any
    contents: dict[Any, SavedValue]
    strict: bool

    def changed(self) -> list[Any]:
        """The keys of values that have changed since."""
        now = dict(items_of(self.container))
        keys = [key for key in {**self.contents, **now} if key not in now or key not in self.contents]
        return keys + [
            key for key in now if key in self.contents and not self.contents[key].is_still(now[key])
        ]

    def only_grew(self) -> bool:
        """Whether this is a list or a queue to whose end items were added, as another thread may do."""
        if not isinstance(self.container, (list, deque)):
            return False
        now = dict(items_of(self.container))
        return len(now) > len(self.contents) and all(
            saved.is_still(now[key]) for key, saved in self.contents.items()
        )

    def name(self, key: Any) -> str:
        """The name of an item."""
        return joined_name(name_of(self.path), self.container, key)

    def restore(self) -> None:
        """Put every value back that can be put back."""
        for saved in self.contents.values():
            saved.put_back()
        now = list(items_of(self.container))
        same = all(self.contents[key].is_still(value) for key, value in now if key in self.contents)
        if not same or [*self.contents] != [key for key, _ in now]:
            put_back(self.container, {key: saved.value for key, saved in self.contents.items()})


class HeldState:
    """What objects hold now, so that changes can be found and taken back.

    It covers plain attributes, also those of a user's objects, lists, dictionaries, sets, NumPy arrays and
    the variables that functions close over.
    """

    def __init__(
        self, with_globals: bool = False, with_parameters: bool = False, budget: Budget | None = None
    ) -> None:
        self._with_globals = with_globals
        self._with_parameters = with_parameters
        self._budget = budget or Budget()
        self._held: list[Held] = []
        self._visited: set[tuple[str, int]] = set()
        self.generators: list[Generator] = []
        """The generators of random numbers among the values."""

    def saved_now(self) -> HeldState:
        """Save what the same objects hold at present."""
        raise NotImplementedError

    def changes(self) -> list[str]:
        """The names of all values that have changed since."""
        return [held.name(key) for held in self._held for key in held.changed()]

    def changes_for_good(self) -> list[str]:
        """The names of all values that have changed and cannot be put back."""
        return [
            held.name(key)
            for held in self._held
            for key, saved in held.contents.items()
            if saved.cannot_be_put_back()
        ]

    def changed_parameters(self) -> list[SavedValue]:
        """The parameters, of which there is a copy, that have changed since."""
        every = (held for held in self._held if isinstance(held.container, Parameters))
        saved = (one for held in every for one in held.contents.values() if one.copy is not None)
        return [one for one in saved if not one.is_still(one.value)]

    def forget_unchanged(self) -> None:
        """Keep only what has changed since, so that nothing else is ever put back.

        While there are other threads, what only grew is left to them.
        """
        threads = active_count() > 1
        self._held = [held for held in self._held if held.changed() and not (threads and held.only_grew())]

    def restore(self) -> None:
        """Put every value back that can be put back."""
        for held in self._held:
            held.restore()

    def restore_changed(self) -> None:
        """Do the same, but leave to other threads what they may have filled."""
        self.restore()

    def strict_values(self) -> dict[str, SavedValue]:
        """All saved values by name, without containers, of which a change is refused though none reads it."""
        inside = {number for _, number in self._visited}
        return {
            held.name(key): saved
            for held in self._held
            if held.strict
            for key, saved in held.contents.items()
            if id(saved.value) not in inside and not is_array(saved.value)
        }

    def holds_what_has_left_vmap(self) -> bool:
        """Whether a value is a tensor that nobody can read outside of the pass that made it."""
        return any(has_left_vmap(saved.value) for held in self._held for saved in held.contents.values())

    def _add(self, path: Path, container: Any, depth: int = 0, strict: bool = True) -> None:
        if isinstance(container, Parameters) and not self._with_parameters:
            return
        contents = {}
        for key, value in items_of(container):
            self._budget.values -= 1
            if self._budget.values < 0:
                return
            saved = contents[key] = SavedValue.of(value, self._budget.elements)
            self._budget.elements -= saved.copied_elements()
            if is_generator(value):
                self.generators.append(value)
        self._held.append(Held(path, container, contents, strict))
        for key, saved in contents.items():
            self._add_inside((path, container, key), saved.value, depth + 1, strict)

    def _add_inside(self, path: Path, value: Any, depth: int, strict: bool = True) -> None:
        strict = strict and is_plainly_held(value)
        for suffix, inner in containers_in(value, self._with_globals):
            if depth <= _DEEPEST and self._is_new(inner):
                self._add((path, suffix) if suffix else path, inner, depth, strict)

    def _is_new(self, container: Any) -> bool:
        """Whether a container was not visited before. From now on it counts as visited."""
        known = identity(container) in self._visited
        self._visited.add(identity(container))
        return not known


class ModuleState(HeldState):
    """What the modules of a model hold.

    In evaluation mode, or with ``with_buffers``, it covers the values of buffers. In training mode it only
    covers which buffers there are. With ``with_parameters`` it covers frozen parameters, too.
    """

    def __init__(
        self, model: nn.Module, with_buffers: bool | None = None, with_parameters: bool = False
    ) -> None:
        super().__init__(with_parameters=with_parameters)
        self._model = model
        self._with_buffers = not model.training if with_buffers is None else with_buffers
        for module in model.modules():
            self._visited |= {
                identity(container) for container in containers_of_module(module, self._with_buffers)
            }
        for name, module in model.named_modules():
            for container in containers_of_module(module, self._with_buffers):
                self._add(f"{name}." if name else "", container)

    def saved_now(self) -> ModuleState:
        """Save what the same model holds at present."""
        return ModuleState(self._model, self._with_buffers, self._with_parameters)


def containers_of_module(module: nn.Module, with_buffers: bool) -> tuple[Any, ...]:
    """What stands for the parts of one module."""
    return Attributes(module), Buffers(module, with_buffers), Parameters(module, all_of_them=False)
