"""Directions in the inputs of a low-rank product that do not depend on its factors."""

from __future__ import annotations

import torch
from torch import Tensor


def directions(inner: Tensor, outer: Tensor, precision: float) -> Tensor:
    """An orthonormal basis ``[m, r]`` of the row space of ``inner``: the right singular vectors of a product.

    The vectors and their order are the same for ``R @ inner`` and ``outer @ R^-1``. The product is not
    written: two QR decompositions leave a matrix ``[r, r]``.

    Vectors of equal singular values are not determined by the product. All singular values are equal, namely
    zero, while ``outer`` is zero. Within such a group the order of the inputs decides: the vectors are the
    eigenvectors of the group's part of ``diag(1, ..., m)``. The largest component of each vector is positive.

    Args:
        inner: ``[r, m]`` with r independent rows, in double precision.
        outer: ``[n, r]``, in double precision.
        precision: singular values are equal if they differ by no more than this share of the largest.
    """
    rows, within_inner = torch.linalg.qr(inner.T)
    _, within_outer = torch.linalg.qr(outer)
    _, values, turned = torch.linalg.svd(within_outer @ within_inner.T, full_matrices=True)
    found = rows @ turned.T
    missing = found.shape[1] - len(values)  # There are fewer outputs than r: the product has rank below r.
    values = torch.cat([values, values.new_zeros(missing)])
    for group in _equal(values, precision):
        if len(group) > 1:
            found[:, group] = _in_order_of_inputs(found[:, group])
    largest = found.abs().argmax(0, keepdim=True)
    signed: Tensor = found * found.gather(0, largest).sign()
    return signed


def _equal(values: Tensor, precision: float) -> list[list[int]]:
    """The places of equal values, in groups; the values fall."""
    numbers = values.tolist()
    groups = [[0]]
    for k in range(1, len(numbers)):
        if numbers[k - 1] - numbers[k] <= precision * numbers[0]:
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def _in_order_of_inputs(vectors: Tensor) -> Tensor:
    """Another basis of the same space, which only the space and the order of the inputs determine."""
    places = torch.linspace(0, 1, len(vectors), dtype=vectors.dtype, device=vectors.device)
    own: Tensor = torch.linalg.eigh(vectors.T @ (places[:, None] * vectors)).eigenvectors
    return vectors @ own
