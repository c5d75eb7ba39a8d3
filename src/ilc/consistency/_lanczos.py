"""The curvature that matters: leading eigenpairs of a symmetric matrix seen only through products."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def lanczos(
    multiply: Callable[[Tensor], Tensor], start: Tensor, steps: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ritz values and vectors after some steps of Lanczos with full reorthogonalisation.

    Extreme eigenvalues, the largest and the most negative, converge first. With ``steps = P`` the
    decomposition is complete: when the Krylov space is exhausted early (repeated eigenvalues), it
    goes on from a fresh random direction.

    Args:
        multiply: the matrix times a vector ``[P]``.
        start: first direction ``[P]``, not zero.
        steps: K, products to take, at most P.
        generator: source of fresh directions.

    Returns:
        Ritz values ``[K]`` in ascending order (float64) and orthonormal Ritz vectors ``[K, P]``.
    """
    basis = start.new_empty(steps, len(start))
    projected = torch.zeros(steps, steps, dtype=torch.float64)
    vector = start / start.norm()
    scale = 0.0
    for k in range(steps):
        basis[k] = vector
        product = multiply(vector)
        scale = max(scale, float(product.norm()))
        # The whole column, not only the two entries of exact arithmetic: it stays right after a restart.
        column = basis[: k + 1] @ product
        projected[: k + 1, k] = column.double()
        projected[k, : k + 1] = column.double()
        remainder = _without(product, basis[: k + 1])
        if k + 1 == steps:
            break
        if float(remainder.norm()) <= 1e3 * torch.finfo(start.dtype).eps * scale:
            fresh = torch.randn(len(start), generator=generator, dtype=start.dtype)
            remainder = _without(fresh, basis[: k + 1])
        vector = remainder / remainder.norm()
    values, rotation = torch.linalg.eigh(projected)
    return values, rotation.mT.to(basis.dtype) @ basis


def _without(vector: Tensor, basis: Tensor) -> Tensor:
    """The vector minus its projection on the orthonormal rows; twice, against rounding."""
    for _ in range(2):
        vector = vector - basis.mT @ (basis @ vector)
    return vector
