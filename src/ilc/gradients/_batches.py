"""Batches of environments: one nest with a leading environment axis, or a list with an entry for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ilc.errors import UserError
from ilc.gradients._forms import first_difference_of_forms
from ilc.gradients._passes.calls import no_targets
from ilc.gradients._tensor_tree import TensorTree, Values, stacked

Batch = Any
"""A tensor ``[E, N, ...]``, a dictionary or tuple of such tensors, or a list with an entry per environment.

An entry is whatever the model takes for one environment: a tensor ``[N_e, ...]``, a dictionary, a tuple, a
graph. ``None`` and whatever is no tensor pass through.
"""


def as_batches(inputs: Batch, targets: Batch, device: torch.device) -> tuple[Any, Any]:
    """Return inputs and targets of all environments as values ``[E, N, ...]``, or both as lists of E values.

    They are stacked if all environments have equal sizes.

    Args:
        inputs: a batch.
        targets: a batch; None if the loss takes none.
        device: where the model is.

    Raises:
        UserError: the axes E and N are missing, there is no environment or no example, the numbers of inputs
            and targets differ, or environments have different nests.
    """
    x, y = _unnested(inputs, "inputs"), None if targets is None else _unnested(targets, "targets")
    if isinstance(x, list) or isinstance(y, list):
        return _lists(x, y, device)
    return _with_leading_axes(x, y, device)


def _with_leading_axes(inputs: Any, targets: Any, device: torch.device) -> tuple[Values, Values]:
    x = _values(inputs, device)
    shape = x.shape[:2]
    y = no_targets(shape, device) if targets is None else _values(targets, device)
    if len(shape) < 2 or y.shape[:2] != shape or 0 in shape:
        raise UserError(
            "inputs and targets must share their first two axes [E, N], both at least 1, got shapes "
            f"{_shapes(x)} and {'no targets' if targets is None else _shapes(y)}: stack one batch of equal "
            "size per environment, or give lists with an entry per environment, for one environment [x]. A "
            "tuple or a dictionary holds the arguments of the model, each for all environments"
        )
    return x, y


def _lists(inputs: Any, targets: Any, device: torch.device) -> tuple[Any, Any]:
    x = _entries(inputs, "inputs", device)
    x_sizes = [len(one) for one in x]
    y = [no_targets((n,), device) for n in x_sizes]
    if targets is not None:
        y = _entries(targets, "targets", device)
    y_sizes = [len(one) for one in y]
    # A nest need not have an axis of examples: a graph has nodes and edges.
    free = any(isinstance(one, TensorTree) for one in (*x, *y))
    if not x or len(x) != len(y) or 0 in (*x_sizes, *y_sizes) or (x_sizes != y_sizes and not free):
        raise UserError(
            "inputs and targets must have equally many batches, and both batches of an environment must have "
            f"equally many examples, at least one, got batches of {x_sizes} and {y_sizes} examples: a list "
            "has an entry per environment that has examples in this step, and a tuple or a dictionary holds "
            "the arguments of the model"
        )
    for name, entries in (("inputs", x), ("targets", y)):
        _check_alike(name, entries, device)
    if all(_can_be_stacked(entries) for entries in (x, y)) and x_sizes == y_sizes:
        return stacked(x), stacked(y)
    return x, y


def _entries(part: Any, name: str, device: torch.device) -> list[Any]:
    entries = part if isinstance(part, list) else list(_values(part, device))
    values = [_values(one, device, entries[0]) for one in entries]
    for e, one in enumerate(values):
        empty = isinstance(one, TensorTree) and not one.tensors and all(map(_is_plain, one.form.others))
        if empty or (isinstance(one, Tensor) and not one.ndim):
            raise UserError(
                f"{name} must be tensors, or lists of a tensor [N, ...] per environment, got "
                f"{type(entries[e]).__name__} without an axis of examples for environment {e}: give what "
                "the model takes for one environment, a tensor or something that holds tensors, and leave "
                "out an environment that has no examples"
            )
    return values


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes, type(None)))


def _values(nest: Any, device: torch.device, like: Any = None) -> Values:
    return nest if isinstance(nest, Tensor | TensorTree) else TensorTree.of(plain(nest, like), device)


def _check_alike(name: str, entries: Sequence[Values], device: torch.device) -> None:
    """Raise UserError unless the nests of all environments have tensors in the same places."""
    if all(isinstance(one, Tensor) for one in entries):
        return
    trees = [TensorTree.of(one, device) if isinstance(one, Tensor) else one for one in entries]
    for e, tree in enumerate(trees[1:], start=1):
        different = first_difference_of_forms(tree, trees[0])
        if different is not None:
            raise UserError(
                f"{name} of environment {e} are built in another way than those of environment 0: it has "
                f"{different}. Give every environment the same dictionaries, tuples and lists"
            )


def _can_be_stacked(entries: Sequence[Any]) -> bool:
    """Whether the entries differ in nothing but the numbers in their tensors."""
    kinds = [(one.shape, one.dtype) if isinstance(one, Tensor) else _kind_of_tree(one) for one in entries]
    return all(kind == kinds[0] and kind is not None for kind in kinds)


def _kind_of_tree(tree: TensorTree) -> tuple[Any, ...] | None:
    """Equal for nests that can be stacked; None if there is no common axis of examples."""
    if not tree.shape:
        return None
    others = (o if _is_plain(o) else id(o) for o in tree.form.others)
    return (*((tensor.shape, tensor.dtype) for tensor in tree.tensors), *others)


def _shapes(values: Values) -> str:
    if isinstance(values, Tensor):
        return str(tuple(values.shape))
    return ", ".join(str(tuple(tensor.shape)) for tensor in values.tensors) or "no tensor"


def _unnested(batch: Batch, name: str) -> Any:
    """The batch itself, or as a list if it is a nested tensor."""
    if isinstance(batch, Tensor):
        return list(batch.unbind()) if batch.is_nested else batch
    if isinstance(batch, TensorTree):
        return batch
    if not isinstance(batch, (list, tuple, Mapping)):
        raise UserError(
            f"{name} must be a tensor [E, N, ...], a dictionary or tuple of such tensors, or a list with an "
            f"entry per environment, got {type(batch).__name__}"
        )
    return batch


def plain(nest: Any, like: Any = None) -> Any:
    """The same nest; a mapping of any class, such as a Hugging Face batch, as a dictionary.

    Keys keep their order. Where ``like`` has the same keys they get its order, so that the nests of all
    environments are built alike.
    """
    if isinstance(nest, Mapping):
        alike = isinstance(like, Mapping) and set(nest) == set(like)
        return {key: plain(nest[key], like[key] if alike else None) for key in (like if alike else nest)}
    if type(nest) in (tuple, list):
        alike = type(like) is type(nest) and len(like) == len(nest)
        return type(nest)(map(plain, nest, like if alike else [None] * len(nest)))
    return nest
