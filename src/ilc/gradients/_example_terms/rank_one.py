"""Statistics of outer products, computed without making the products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ilc._precision import wide_type
from ilc.aggregators import GradientStatistics
from ilc.gradients._example_terms.terms import RankOneTerms
from ilc.kernels._compiled import usable
from ilc.kernels._signs import product_of_signs


def sums_of_outer_products(votes: RankOneTerms, parameter: Tensor, also: Sequence[str]) -> GradientStatistics:
    """Statistics over ``delta_i x_i^T``, for a layer with one position per example.

    The sign of a product is the product of the signs. So the sum of signs is one matrix product of signs. The
    sum of squares is a product of squares, the sum of magnitudes a product of magnitudes, and the sum of logs
    an outer sum. Where ``delta * x`` underflows to 0, the sign of the number would be 0, but the product of
    signs is not. The product of signs counts, because the gradient is not zero, only too small for its number
    format. The sum of logs stays finite there, too. A factor that is exactly 0 casts no vote.
    """
    delta, x = (factor.to(wide_type(parameter.dtype)) for factor in (votes.delta, votes.x))
    return GradientStatistics(
        n_environments=len(x),
        total=delta.T @ x,
        sign_sum=_product_of_signs(delta, x),
        **{name: _OF_PRODUCTS[name](delta, x) for name in also},
    )


def _product_of_signs(delta: Tensor, x: Tensor) -> Tensor:
    """``sign(delta)^T sign(x)``, an exact sum of whole numbers."""
    if usable(x) and usable(delta):
        return product_of_signs(delta, x)
    return delta.sign().T @ x.sign()


def _logs(factor: Tensor) -> Tensor:
    return factor.abs().log_().sum(0)


_OF_PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "log_sum": lambda delta, x: _logs(delta)[:, None] + _logs(x)[None],
    "square_sum": lambda delta, x: delta.square().T @ x.square(),
    "magnitude_sum": lambda delta, x: delta.abs().T @ x.abs(),
}
"""The sums of ``ON_REQUEST``, for all outer products at once."""
