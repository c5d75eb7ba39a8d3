"""Values that modules and other objects hold: saved, compared and put back."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ilc.gradients._trials.same_values import same

_PLAIN = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_MOST_OF_A_PARAMETER = 2**22
"""Of a larger parameter there is no copy: it is a frozen weight, which no pass writes."""


class SavedValue(NamedTuple):
    """A value as it was.

    Attributes:
        value: the object itself.
        copy: of a tensor or an array.
        mark: what changes when a tensor is written.
    """

    value: Any
    copy: Any
    mark: Any

    @classmethod
    def of(cls, value: Any, most_elements: float = math.inf) -> SavedValue:
        """Save a value, with a copy unless it has more elements."""
        if isinstance(value, nn.Parameter):
            most_elements = min(most_elements, _MOST_OF_A_PARAMETER)
        if isinstance(value, Tensor):
            if is_lazy(value):
                return cls(value, None, 0)
            few = value.numel() <= most_elements and not has_left_vmap(value)
            return cls(value, value.detach().clone() if few else None, _mark(value))
        if is_array(value):
            return cls(value, value.copy() if value.size <= most_elements else None, 0)
        return cls(value, None, 0)

    def copied_elements(self) -> int:
        """How many elements the copy has."""
        if isinstance(self.copy, Tensor):
            return self.copy.numel()
        return 0 if self.copy is None else int(self.copy.size)

    def is_still(self, value: Any) -> bool:
        """Whether this is the same object without a change, or an equal plain value."""
        if value is self.value:
            if isinstance(value, Tensor):
                return is_lazy(value) or (
                    bool(_mark(value) == self.mark) and (self.copy is None or same(value.detach(), self.copy))
                )
            return self.copy is None or _same_array(value, self.copy)
        if isinstance(value, tuple) and isinstance(self.value, tuple) and len(value) == len(self.value):
            return all(
                SavedValue(one, None, 0).is_still(other) for one, other in zip(self.value, value, strict=True)
            )
        return type(value) is type(self.value) and isinstance(value, _PLAIN) and _equal(value, self.value)

    def cannot_be_put_back(self) -> bool:
        """Whether somebody has written into a tensor of which there is no copy."""
        return isinstance(self.value, Tensor) and self.copy is None and not self.is_still(self.value)

    def put_back(self) -> None:
        """Write the old contents into the object."""
        if self.copy is None or self.is_still(self.value):
            return
        if isinstance(self.value, Tensor):
            with torch.no_grad():
                self.value.copy_(self.copy)
        else:
            self.value[...] = self.copy

    def equals(self, other: SavedValue) -> bool:
        """Whether both have the same value. The objects may be different ones."""
        if isinstance(self.copy, Tensor) and isinstance(other.copy, Tensor):
            return nearly_equal(self.copy, other.copy)
        if is_array(self.copy) and is_array(other.copy):
            return _same_array(self.copy, other.copy)
        if isinstance(self.value, _PLAIN) or isinstance(other.value, _PLAIN):
            return type(self.value) is type(other.value) and _equal(self.value, other.value)
        return type(self.value) is type(other.value)

    def is_comparable(self, other: SavedValue) -> bool:
        """Whether both are copied tensors of floating-point numbers of one shape."""
        ours, theirs = self.copy, other.copy
        both = isinstance(ours, Tensor) and isinstance(theirs, Tensor) and ours.shape == theirs.shape
        return both and ours.is_floating_point()


def _equal(one: Any, other: Any) -> bool:
    """Whether two plain values are equal. NaN equals NaN."""
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124


def has_left_vmap(value: Any) -> bool:
    """Whether a value is a tensor from inside ``torch.func.vmap``, which nobody can read outside."""
    if isinstance(value, tuple):
        return any(map(has_left_vmap, value))
    return isinstance(value, Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(value)


def _mark(tensor: Tensor) -> Any:
    """What changes when a tensor is written, also by its ``data`` if it is a parameter."""
    if has_left_vmap(tensor) or tensor.is_inference():
        return 0
    version, values = tensor._version, tensor.detach()
    if not isinstance(tensor, nn.Parameter) or not has_a_sum(values):
        return version
    total = values.sum(dtype=torch.float64) if values.is_floating_point() else values.sum()
    return version, values.data_ptr(), str(total.item())  # As text, because NaN does not equal itself.


def has_a_sum(values: Tensor) -> bool:
    """Whether numbers can be added: quantised weights are of other classes, and bytes are no sums."""
    plain = type(values) is Tensor and values.layout == torch.strided and not values.is_meta
    return plain and (values.element_size() > 1 or not values.is_floating_point())


def is_array(value: Any) -> bool:
    """Whether a value is a NumPy array of numbers."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and not value.dtype.hasobject


def _same_array(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(sys.modules["numpy"].array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def nearly_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two passes over the same numbers gave the same numbers, up to rounding. NaN equals NaN.

    What a pass reads from another one may change little, for example behind a normalisation layer. So only
    differences as small as rounding are accepted. On an accelerator sums may have another order.
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    relative = rounding_of(one)
    values = one.double()[one.isfinite()]
    largest = float(values.abs().max()) if len(values) else 0.0
    return torch.allclose(
        one.double(), other.double(), rtol=relative, atol=relative * largest, equal_nan=True
    )


def rounding_of(values: Tensor) -> float:
    """How much two sums of the same numbers of this type may differ, relative to the largest."""
    return 1e-5 if values.is_cuda else 16 * torch.finfo(values.dtype).eps
