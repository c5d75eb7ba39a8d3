"""How to obtain each example's term of one parameter's gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class ExampleTerms(NamedTuple):
    """How to obtain the examples' terms of one parameter's gradient.

    Attributes:
        of: takes a slice of examples and returns a function. That function takes a slice of rows and flat
            scratch memory, and returns the terms ``[examples, rows, ...]``. The caller may overwrite them.
            They lie in new memory or in the scratch memory. A parameter with one row comes as a whole.
        n_rows: the number of rows of a term, in the layout that is fastest.
        restore: takes a sum over examples, flat in that layout, to the parameter's own layout.
        arrange: the way back for a weight: from the parameter's layout to ``[out, ...]`` in that layout.
        extra: the number of elements per example that ``of`` needs besides the term itself.
        sums: a kernel, if there is one. It returns the sum over examples of the terms and that of their
            signs, in the parameter's own layout.
        corrected_signs: a kernel, if there is one. It takes ``ones``, ``normed`` and what ``of_normed``
            returns of a ``BatchNormCorrection``. It returns the sum over examples of the signs of the
            corrected terms, in the parameter's own layout.
    """

    of: Callable[[slice], Callable[[slice, Tensor], Tensor]]
    n_rows: int = 1
    restore: Callable[[Tensor], Tensor] = lambda flat: flat
    arrange: Callable[[Tensor], Tensor] = lambda weight: weight.flatten(1)
    extra: int = 0
    sums: Callable[[], tuple[Tensor, Tensor]] | None = None
    corrected_signs: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None


class RankOneTerms(NamedTuple):
    """Terms that are outer products ``delta_i x_i^T``. Their sums can be found without making any of them.

    Attributes:
        delta: ``[E, out]``.
        x: ``[E, in]``.
    """

    delta: Tensor
    x: Tensor


def undivided(of: Callable[[slice], Tensor], extra: int = 0) -> ExampleTerms:
    """Terms that are too small to be divided into rows."""
    return ExampleTerms(lambda s: lambda rows, scratch: of(s), extra=extra)


def product(a: Tensor, b: Tensor, scratch: Tensor) -> Tensor:
    """``a @ b`` in scratch memory, because new memory from the system costs as much as the product."""
    size = len(a) * a.shape[1] * b.shape[2]
    if scratch.dtype != a.dtype or a.dtype != b.dtype or scratch.numel() < size:
        return a.to(scratch.dtype) @ b.to(scratch.dtype)
    return torch.bmm(a, b, out=scratch[:size].view(len(a), a.shape[1], b.shape[2]))
