"""Changes of plain attributes in later steps: a look that costs little, without copies."""

from __future__ import annotations

from collections import deque
from threading import active_count
from typing import Any

from torch import Tensor, nn

from ilc.gradients._tensor_tree import version_of
from ilc.gradients._trials.containers import items_of, put_back

_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_PLAIN = frozenset({bool, int, float, str, type(None)})
_LONGEST = 32
"""A longer container is data or a history, which is not looked at."""

Place = tuple[int, Any]
"""Names an attribute of a module, or an item of a container, while both exist."""


class PlainAttributes:
    """The attributes of modules beyond those of every module, as they are now.

    Tensors are known by identity and number of writes, and plain values by equality. Of short lists and
    dictionaries the items are looked at, too, and nothing deeper.
    """

    def __init__(self, *roots: nn.Module) -> None:
        self._held: list[tuple[Any, dict[Any, Any]]] = []
        self._versions: list[tuple[Place, Tensor, int]] = []
        for module in (part for root in roots for part in root.modules()):
            own = _contents(module)
            self._held.append((module, own))
            for key, value in own.items():
                kind = type(value)
                if kind not in _PLAIN:
                    self._add((id(module), key), value, kind)

    def _add(self, place: Place, value: Any, kind: type) -> None:
        if isinstance(value, Tensor):
            self._versions.append((place, value, version_of(value)))
        elif (kind is dict or kind is list or kind is deque) and len(value) <= _LONGEST:
            items = dict(items_of(value))
            self._held.append((value, items))
            for key, item in items.items():
                if isinstance(item, Tensor):
                    self._versions.append(((id(value), key), item, version_of(item)))

    def changed(self) -> set[Place]:
        """The places of everything that has changed since."""
        found = {place for place, tensor, version in self._versions if version_of(tensor) != version}
        for container, before in self._held:
            now = _contents(container)
            if self._is_left_alone(container, now, before):
                continue
            if now.keys() != before.keys():
                found |= {(id(container), key) for key in now.keys() ^ before.keys()}
            for key, value in now.items():
                old = before.get(key, value)
                if old is not value and not _equal(old, value):
                    found.add((id(container), key))
        return found

    def name_of(self, place: Place, model: nn.Module) -> str:
        """The name of a place, for a message."""
        owners = {
            id(module): f"model.{name}." if name else "model." for name, module in model.named_modules()
        }
        number, key = place
        if number in owners:
            return f"{owners[number]}{key}"
        for container, before in self._held:
            for name, value in before.items():
                if id(value) == number and id(container) in owners:
                    return f"{owners[id(container)]}{name}[{key!r}]"
        return f"loss_fn.{key}"

    def restore(self) -> None:
        """Put the same objects back. What was written into a tensor stays there."""
        for container, before in self._held:
            if isinstance(container, nn.Module):
                now = vars(container)
                for key in now.keys() - _OF_EVERY_MODULE - before.keys():
                    del now[key]
                now.update(before)
            elif self._is_other(container, before):
                put_back(container, before)

    @staticmethod
    def _is_other(container: Any, before: dict[Any, Any]) -> bool:
        now = _contents(container)
        if PlainAttributes._is_left_alone(container, now, before):
            return False
        return [*now] != [*before] or any(now[key] is not before[key] for key in now)

    @staticmethod
    def _is_left_alone(container: Any, now: dict[Any, Any], before: dict[Any, Any]) -> bool:
        """Whether items came to the end of a list, as another thread may add them."""
        if isinstance(container, (nn.Module, dict)) or len(now) <= len(before) or active_count() == 1:
            return False
        return all(now[key] is before[key] for key in before)


def _contents(container: Any) -> dict[Any, Any]:
    if isinstance(container, nn.Module):
        attributes = vars(container)
        return {key: attributes[key] for key in attributes.keys() - _OF_EVERY_MODULE}
    return dict(items_of(container))


def _equal(one: Any, other: Any) -> bool:
    kind = type(one)
    # As text too, because NaN does not equal itself.
    return kind is type(other) and kind in _PLAIN and (one == other or str(one) == str(other))
