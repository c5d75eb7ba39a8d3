"""How to obtain each example's share of one parameter's gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Shares(NamedTuple):
    """How to obtain the shares of one parameter.

    Attributes:
        of: for a slice of examples, how to obtain any slice of rows of their shares,
            ``[examples, rows, ...]``, in memory that the caller may overwrite: a new one, or the
            flat scratch memory given. A parameter of one row is obtained whole.
        n_rows: rows of a share, in whatever layout is fastest.
        restore: from a reduction over examples, flat in that layout, to the parameter's own.
        arrange: the way back, for a weight: from the parameter's layout to ``[out, ...]`` in that one.
        signs: where there is a kernel for it, the sum over all examples of the signs of the shares less
            ``ones S0 + normed S1``, of ``Mixing``'s ``ones``, ``normed`` and ``normalised``, in the
            parameter's own layout.
        extra: elements that ``of`` needs per example beside the share itself.
    """

    of: Callable[[slice], Callable[[slice, Tensor], Tensor]]
    n_rows: int = 1
    restore: Callable[[Tensor], Tensor] = lambda flat: flat
    arrange: Callable[[Tensor], Tensor] = lambda weight: weight.flatten(1)
    extra: int = 0
    signs: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None


class RankOne(NamedTuple):
    """Shares that are outer products ``delta_i x_i^T``, of which sums are known without any of them.

    Attributes:
        delta: ``[E, out]``.
        x: ``[E, in]``.
    """

    delta: Tensor
    x: Tensor


def whole(of: Callable[[slice], Tensor], extra: int = 0) -> Shares:
    """Shares too small to be worth dividing into rows."""
    return Shares(lambda s: lambda rows, scratch: of(s), extra=extra)


def product(a: Tensor, b: Tensor, scratch: Tensor) -> Tensor:
    """``a @ b`` in scratch memory: asking the system for new memory costs as much as the product."""
    size = len(a) * a.shape[1] * b.shape[2]
    if scratch.dtype != a.dtype or a.dtype != b.dtype or scratch.numel() < size:
        return a.to(scratch.dtype) @ b.to(scratch.dtype)
    return torch.bmm(a, b, out=scratch[:size].view(len(a), a.shape[1], b.shape[2]))
