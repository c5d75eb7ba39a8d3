"""Leading eigenpairs of a symmetric matrix, from products with vectors only."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def lanczos(
    multiply: Callable[[Tensor], Tensor], start: Tensor, steps: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Ritz values and vectors after some steps of Lanczos with full reorthogonalisation.

    The largest and the most negative eigenvalues converge first. With ``steps = P`` the decomposition is
    complete. If the Krylov space is exhausted early, because of repeated eigenvalues, the method continues
    from a new random direction.

    Args:
        multiply: returns the matrix times a vector ``[P]``.
        start: the first direction ``[P]``, not zero.
        steps: K, the number of products, at most P.
        generator: the source of new directions.

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
        # The whole column and not only two entries, as in exact arithmetic, so that it is right after a
        # restart.
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
    """The vector minus its projection on the orthonormal rows, computed twice because of rounding."""
    for _ in range(2):
        vector = vector - basis.mT @ (basis @ vector)
    return vector
