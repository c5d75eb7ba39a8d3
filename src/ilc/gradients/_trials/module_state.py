"""Everything that a model remembers besides its parameters and, in training mode, its buffers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ilc.gradients._trials.held_values import (
    Attributes,
    Buffers,
    SavedValue,
    containers_in,
    items_of,
    joined_name,
    put_back,
)

_DEEPEST = 5
"""So many containers inside each other are searched: lists of lists, objects in hooks and so on."""


class ModuleState:
    """What the modules of a model hold now, so that changes can be found and taken back.

    It covers plain attributes, also those of a user's objects, lists, dictionaries, sets and the variables
    that hooks close over. In evaluation mode, or with ``with_buffers``, it covers the values of buffers. In
    training mode it only covers which buffers there are.
    """

    def __init__(self, model: nn.Module, with_buffers: bool | None = None) -> None:
        self._model = model
        self._with_buffers = not model.training if with_buffers is None else with_buffers
        self._containers: list[tuple[str, Any, dict[Any, SavedValue]]] = []
        self._visited: set[int] = set()
        for name, module in model.named_modules():
            prefix = f"{name}." if name else ""
            self._add(prefix, Attributes(module), 0)
            self._add(prefix, Buffers(module, with_values=self._with_buffers), 0)

    def saved_now(self) -> ModuleState:
        """Save what the same model holds at present."""
        return ModuleState(self._model, self._with_buffers)

    def changes(self) -> list[str]:
        """The names of all values that have changed since."""
        found = []
        for path, container, contents in self._containers:
            now = dict(items_of(container))
            keys = [key for key in {**contents, **now} if key not in now or key not in contents]
            keys += [key for key in now if key in contents and not contents[key].is_still(now[key])]
            found += [joined_name(path, container, key) for key in keys]
        return found

    def restore(self) -> None:
        """Put every value back."""
        for _, container, contents in self._containers:
            for saved in contents.values():
                if saved.copy is not None and not saved.is_still(saved.value):
                    with torch.no_grad():
                        saved.value.copy_(saved.copy)
            if any(not contents[key].is_still(v) for key, v in items_of(container) if key in contents) or (
                [*contents] != [key for key, _ in items_of(container)]
            ):
                put_back(container, {key: saved.value for key, saved in contents.items()})

    def values(self) -> dict[str, SavedValue]:
        """All saved values that are not containers, by name."""
        return {
            joined_name(path, container, key): saved
            for path, container, contents in self._containers
            for key, saved in contents.items()
            if id(saved.value) not in self._visited
        }

    def _add(self, path: str, container: Any, depth: int) -> None:
        contents = {key: SavedValue.of(value) for key, value in items_of(container)}
        self._containers.append((path, container, contents))
        for key, saved in contents.items():
            for inner in containers_in(saved.value):
                identity = id(inner.of) if isinstance(inner, Attributes) else id(inner)
                if identity not in self._visited and depth < _DEEPEST:
                    self._visited.add(identity)
                    self._add(joined_name(path, container, key), inner, depth + 1)


def first_difference_of_states(one: ModuleState, other: ModuleState) -> str | None:
    """The name of the first value that is not the same in both; None if all are."""
    ours, theirs = one.values(), other.values()
    for name in {**ours, **theirs}:
        if name not in ours or name not in theirs or not ours[name].equals(theirs[name]):
            return name
    return None
