"""Arithmetic and geometric means of Hessians, the OR and the AND of loss surfaces.

Paper, section 2.2 and its appendix; general positive definite matrices: Ando, Li and Mathias (2004).
All matrices are symmetric and stacked as ``[E, P, P]``. The computation is in float64.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ilc.errors import UserError


def arithmetic_mean(hessians: Tensor) -> Tensor:
    """The mean ``[P, P]`` of Hessians ``[E, P, P]``, which is the curvature of the pooled risk."""
    return hessians.double().mean(0)


def diagonal_geometric_mean(hessians: Tensor) -> Tensor:
    """The geometric mean ``[P, P]`` of diagonal ``[E, P, P]``, entry by entry.

    An entry that is zero in any matrix is zero in the result.

    Raises:
        UserError: a matrix is not diagonal, or an entry is negative.
    """
    entries = hessians.double().diagonal(dim1=1, dim2=2)
    if not torch.equal(torch.diag_embed(entries), hessians.double()) or bool((entries < 0).any()):
        raise UserError(
            "diagonal_geometric_mean needs diagonal matrices with entries of at least 0: use karcher_mean "
            "for matrices that are not diagonal"
        )
    return torch.diag(entries.log().mean(0).exp())


def geometric_mean_of_two(a: Tensor, b: Tensor) -> Tensor:
    """The geometric mean of two positive definite matrices: ``a^1/2 (a^-1/2 b a^-1/2)^1/2 a^1/2``.

    Raises:
        UserError: a matrix is not symmetric positive definite, or the two have different sizes.
    """
    if a.shape != b.shape:
        raise UserError(
            f"the two matrices must have the same shape [P, P], got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    _check_positive_definite(torch.stack([a, b]))
    root, inverse = _power(a.double(), 0.5), _power(a.double(), -0.5)
    return _symmetric(root @ _power(_symmetric(inverse @ b.double() @ inverse), 0.5) @ root)


def karcher_mean(hessians: Tensor, tolerance: float = 1e-12, max_iterations: int = 1000) -> Tensor:
    """Geometric mean of positive definite ``[E, P, P]``: the X with ``sum_e log(X^-1/2 H_e X^-1/2) = 0``.

    This X minimises the mean squared Riemannian distance. It is found by gradient descent on the manifold.
    The step is halved when the gradient does not decrease.

    Args:
        hessians: ``[E, P, P]``.
        tolerance: the largest Frobenius norm of the mean logarithm, divided by the root of P.
        max_iterations: the largest number of iterations.

    Raises:
        UserError: a matrix is not symmetric positive definite, or there is no convergence.
    """
    _check_positive_definite(hessians)
    matrices = hessians.double()
    # The first congruence, by the arithmetic mean, brings every matrix near the identity.
    mean, step, previous = arithmetic_mean(matrices), 1.0, math.inf
    for _ in range(max_iterations):
        root, inverse = _power(mean, 0.5), _power(mean, -0.5)
        direction = _log(_symmetric(inverse @ matrices @ inverse)).mean(0)
        error = float(direction.norm()) / math.sqrt(len(direction))
        if error <= tolerance:
            return mean
        if error > previous:
            step *= 0.5
        previous = error
        mean = _symmetric(root @ _exp(step * direction) @ root)
    raise UserError(
        f"the Karcher mean has not converged after {max_iterations} iterations (error {previous:.1e}), "
        "perhaps because the matrices are badly conditioned: add a small positive diagonal to them"
    )


def ellipsoid_volume(hessian: Tensor) -> float:
    """The volume of ``{s: s' H^-1 s <= 1}``, which is ``pi sqrt(det H)`` in the plane (thesis, figure B.3).

    The paper's own level sets ``{s: s' H s <= 1}`` have the volume of ``ellipsoid_volume(H^-1)``.

    Args:
        hessian: H, a symmetric positive definite matrix ``[P, P]``.
    """
    n = len(hessian)
    unit_ball: float = math.pi ** (n / 2) / math.gamma(n / 2 + 1)
    return unit_ball * math.sqrt(float(torch.linalg.det(hessian.double())))


def _check_positive_definite(hessians: Tensor) -> None:
    if hessians.ndim != 3 or hessians.shape[1] != hessians.shape[2] or not len(hessians):
        raise UserError(
            f"hessians must be a tensor [E, P, P], got shape {tuple(hessians.shape)}: stack one matrix per "
            "environment by torch.stack"
        )
    wide = hessians.double()
    if not torch.allclose(wide, wide.mT) or bool((torch.linalg.eigvalsh(wide) <= 0).any()):
        raise UserError(
            "a geometric mean needs symmetric positive definite matrices, but at least one is not: add a "
            "small positive diagonal to each (paper, footnote 8)"
        )


def _power(matrix: Tensor, exponent: float) -> Tensor:
    eigenvalues, basis = torch.linalg.eigh(matrix)
    result: Tensor = (basis * eigenvalues.pow(exponent).unsqueeze(-2)) @ basis.mT
    return result


def _log(matrices: Tensor) -> Tensor:
    eigenvalues, basis = torch.linalg.eigh(matrices)
    result: Tensor = (basis * eigenvalues.log().unsqueeze(-2)) @ basis.mT
    return result


def _exp(matrix: Tensor) -> Tensor:
    eigenvalues, basis = torch.linalg.eigh(matrix)
    result: Tensor = (basis * eigenvalues.exp().unsqueeze(-2)) @ basis.mT
    return result


def _symmetric(matrix: Tensor) -> Tensor:
    return 0.5 * (matrix + matrix.mT)
