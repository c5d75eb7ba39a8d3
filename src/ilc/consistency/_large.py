"""The method for large networks, which uses Hessian-vector products and never forms a Hessian.

One Lanczos run per environment (not per pair) finds the directions in which its risk is curved the most. The
low-rank model of the risk has this curvature and that of the added diagonal, and nothing else. A pair of
environments is solved in the span of both sets of directions and both gradients. Outside this span both
models have only the diagonal. So the small problem in the span has the same maximum as the large one of the
models.

The maximum is that of the risks only if the runs found all curvature that counts beside the diagonal. They do
not if many curvatures are nearly equal: each run finds other directions of them (``_missed_curvature``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc.consistency._derivatives import LocalRisk, Loss
from ilc.consistency._expansion import Expansion
from ilc.consistency._lanczos import lanczos

_ROWS_AT_ONCE = 2**14  # parameters per block when inner products are summed in float64


@dataclass(frozen=True)
class LowRankExpansion:
    """Risk of one environment whose positive curvature is ``directions' diag(curvatures) directions``.

    Attributes:
        risk: the value at the solution.
        gradient: ``[P]``.
        curvatures: the positive Ritz values ``[K]``, float64.
        directions: the orthonormal Ritz vectors ``[K, P]``.
        lowest: the smallest Ritz value, below 0 if the risk is not convex.
    """

    risk: float
    gradient: Tensor
    curvatures: Tensor
    directions: Tensor
    lowest: float = 0.0


def expand(
    loss: Loss, theta_star: Tensor, lanczos_steps: int, generator: torch.Generator
) -> LowRankExpansion:
    """Expand one environment's risk with ``lanczos_steps`` Hessian-vector products."""
    local = LocalRisk(loss, theta_star)
    steps = min(lanczos_steps, len(theta_star))
    start = torch.randn(len(theta_star), generator=generator, dtype=theta_star.dtype)
    values, vectors = lanczos(local.hessian_times, start, steps, generator)
    curved = values > 0
    return LowRankExpansion(local.risk, local.gradient, values[curved], vectors[curved], float(values[0]))


class SharedSpans:
    """Turns pairs of low-rank expansions into small dense expansions, with one table of inner products."""

    def __init__(self, expansions: Sequence[LowRankExpansion], diagonal: float) -> None:
        self._expansions = expansions
        self._diagonal = diagonal
        # Gradients are scaled to unit length so that one tolerance fits every row.
        self._norms = [float(e.gradient.norm()) for e in expansions]
        rows = [_rows(e, norm) for e, norm in zip(expansions, self._norms, strict=True)]
        ends = torch.tensor([len(r) for r in rows]).cumsum(0).tolist()
        self._slices = [slice(end - len(r), end) for end, r in zip(ends, rows, strict=True)]
        self._rows = rows
        self._products = _inner_products(rows)
        # The rounding of the rows' own type decides which combinations of rows are independent.
        self._tolerance = 1e2 * torch.finfo(expansions[0].directions.dtype).eps

    def pair(self, e: int, other: int) -> tuple[Expansion, Expansion, Tensor]:
        """Both expansions in an orthonormal basis of their joint span, and the weights that make this basis.

        The last coordinate stands for any direction outside the span, if there is one.
        """
        index = torch.cat([torch.arange(s.start, s.stop) for s in (self._slices[e], self._slices[other])])
        weights, rotation = torch.linalg.eigh(self._products[index][:, index])
        kept = weights > self._tolerance * weights[-1].clamp(min=1.0)
        whiten = rotation[:, kept] / weights[kept].sqrt()
        return self._reduced(e, index, whiten), self._reduced(other, index, whiten), whiten

    def step(self, e: int, other: int, coordinates: Tensor, whiten: Tensor) -> Tensor:
        """The step ``[P]`` with these coordinates, without its part outside the span."""
        rows = torch.cat([self._rows[e], self._rows[other]])
        return (whiten @ coordinates[: whiten.shape[1]]).to(rows.dtype) @ rows

    def _reduced(self, e: int, index: Tensor, whiten: Tensor) -> Expansion:
        expansion = self._expansions[e]
        inner = whiten.mT @ self._products[index, self._slices[e]]
        along, gradient = inner[:, :-1], inner[:, -1] * self._norms[e]
        n_parameters = len(expansion.gradient)
        size = len(inner) + (len(inner) < n_parameters)
        curvature = torch.zeros(size, size, dtype=torch.float64)
        curvature[: len(inner), : len(inner)] = (along * expansion.curvatures) @ along.mT
        curvature.diagonal().add_(self._diagonal)
        padded = torch.zeros(size, dtype=torch.float64)
        padded[: len(inner)] = gradient
        return Expansion(expansion.risk, padded, curvature)


def _rows(expansion: LowRankExpansion, norm: float) -> Tensor:
    gradient = expansion.gradient / norm if norm > 0 else expansion.gradient
    return torch.cat([expansion.directions, gradient.unsqueeze(0)])


def _inner_products(rows: Sequence[Tensor]) -> Tensor:
    """Inner products of all rows, summed in float64 over one block of parameters at a time."""
    n_rows, n_parameters = sum(len(r) for r in rows), rows[0].shape[1]
    products = torch.zeros(n_rows, n_rows, dtype=torch.float64)
    for start in range(0, n_parameters, _ROWS_AT_ONCE):
        block = torch.cat([r[:, start : start + _ROWS_AT_ONCE] for r in rows]).double()
        products.addmm_(block, block.mT)
    return products
