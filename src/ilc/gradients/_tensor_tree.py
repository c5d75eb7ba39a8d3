"""A nest of tensors, such as the dictionary of a Hugging Face batch, that is handled like one tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import (
    TreeSpec,
    register_pytree_node,
    tree_flatten,
    tree_unflatten,
)


class Form(NamedTuple):
    """What a nest is besides its tensors.

    Attributes:
        spec: the dictionaries, tuples and lists, and what is in which place.
        others: the parts that are no tensors, such as None or a graph; ``_TENSOR`` stands for each tensor.
        device: where the passes are, even if the nest has no tensor.
    """

    spec: TreeSpec
    others: tuple[Any, ...]
    device: torch.device


class TensorTree:
    """The tensors of a nest, with the methods of one tensor along the axes that all of them have first.

    Everything that is no tensor passes through. ``content`` is the nest itself.
    """

    def __init__(self, tensors: Sequence[Tensor], form: Form) -> None:
        self.tensors = list(tensors)
        self.form = form

    @classmethod
    def of(cls, nest: Any, device: torch.device) -> TensorTree:
        """Take a nest apart."""
        leaves, spec = tree_flatten(nest)
        others = tuple(_TENSOR if isinstance(leaf, Tensor) else leaf for leaf in leaves)
        return cls([leaf for leaf in leaves if isinstance(leaf, Tensor)], Form(spec, others, device))

    @property
    def content(self) -> Any:
        """The nest with these tensors."""
        own = iter(self.tensors)
        return tree_unflatten([next(own) if o is _TENSOR else o for o in self.form.others], self.form.spec)

    def map(self, change: Callable[[Tensor], Tensor]) -> TensorTree:
        """Change every tensor."""
        return TensorTree([change(tensor) for tensor in self.tensors], self.form)

    @property
    def shape(self) -> torch.Size:
        """The axes that all tensors have first, as far as their lengths are equal."""
        shapes = [tensor.shape for tensor in self.tensors]
        common = 0
        for lengths in zip(*shapes, strict=False):
            if len(set(lengths)) > 1:
                break
            common += 1
        return shapes[0][:common] if shapes else torch.Size()

    @property
    def dtype(self) -> torch.dtype:
        """The type of the first tensor of floating-point numbers, or else of the first tensor."""
        kinds = [tensor.dtype for tensor in self.tensors] or [torch.int64]
        return next((kind for kind in kinds if kind.is_floating_point), kinds[0])

    @property
    def device(self) -> torch.device:
        """Where the passes are."""
        return self.form.device

    @property
    def is_cuda(self) -> bool:
        """Whether the passes are on a CUDA device."""
        return self.device.type == "cuda"

    def is_floating_point(self) -> bool:
        """Whether any tensor holds floating-point numbers."""
        return self.dtype.is_floating_point

    def __len__(self) -> int:
        return len(self.tensors[0]) if self.shape else 1

    def __getitem__(self, index: Any) -> TensorTree:
        return self.map(lambda tensor: tensor[index])

    def __iter__(self) -> Iterator[TensorTree]:
        return (self[i] for i in range(len(self)))

    def detach(self) -> TensorTree:
        """The same numbers without a graph."""
        return self.map(Tensor.detach)

    def clone(self) -> TensorTree:
        """Copies of all tensors."""
        return self.map(Tensor.clone)

    def flatten(self, first: int, last: int) -> TensorTree:
        """Join two axes of every tensor."""
        return self.map(lambda tensor: tensor.flatten(first, last))

    def unsqueeze(self, axis: int) -> TensorTree:
        """Add an axis of length one to every tensor."""
        return self.map(lambda tensor: tensor.unsqueeze(axis))

    def tensor_split(self, n: int) -> list[TensorTree]:
        """Divide every tensor along its first axis into ``n`` parts."""
        parts = zip(*(tensor.tensor_split(n) for tensor in self.tensors), strict=True)
        return [TensorTree(part, self.form) for part in parts]


Values = Tensor | TensorTree
"""One tensor, or a nest of tensors that is handled like one."""


class _Tensor:
    """Stands for a tensor in ``Form.others``."""


_TENSOR = _Tensor()


def changed(values: Values, change: Callable[[Tensor], Tensor]) -> Values:
    """Change a tensor, or every tensor of a nest."""
    return change(values) if isinstance(values, Tensor) else values.map(change)


def stacked(values: Sequence[Any]) -> Any:
    """Stack tensors, or nests of equal form, along a new first axis."""
    return _merged(torch.stack, values)


def joined(values: Sequence[Any]) -> Any:
    """Join tensors, or nests of equal form, along their first axis."""
    return _merged(torch.cat, values)


def _merged(merge: Callable[[list[Tensor]], Tensor], values: Sequence[Any]) -> Any:
    if isinstance(values[0], Tensor):
        return merge(list(values))
    columns = zip(*(value.tensors for value in values), strict=True)
    return TensorTree([merge(list(column)) for column in columns], values[0].form)


def version_of(tensor: Tensor) -> int:
    """How often a tensor has been written into so far; tensors of inference mode do not count."""
    return 0 if tensor.is_inference() else tensor._version


def versions_of(values: Values) -> tuple[int, ...]:
    """``version_of`` each of the tensors."""
    tensors = values.tensors if isinstance(values, TensorTree) else [values]
    return tuple(map(version_of, tensors))


def sizes_of(values: Values) -> tuple[Any, ...]:
    """The sizes of everything but the first axis: answers of a trial hold for batches with equal ones."""
    if isinstance(values, Tensor):
        return tuple(values.shape[1:])
    return tuple((tensor.shape[1:], tensor.dtype) for tensor in values.tensors)


def differs_from_first(values: Values) -> Tensor:
    """Which rows ``[E]`` are not equal to the first row."""
    tensors = [values] if isinstance(values, Tensor) else values.tensors
    return torch.stack([(tensor != tensor[:1]).flatten(1).any(1) for tensor in tensors]).any(0)


register_pytree_node(
    TensorTree,
    lambda tree: (tree.tensors, tree.form),
    lambda tensors, form: TensorTree(list(tensors), form),
)
