"""Statistics of outer products without writing one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ilc._precision import wide_type
from ilc.aggregators import GradientStatistics
from ilc.gradients._example_terms.terms import RankOne
from ilc.kernels._compiled import usable
from ilc.kernels._signs import product_of_signs


def summed_outer_products(votes: RankOne, parameter: Tensor, also: Sequence[str]) -> GradientStatistics:
    """Statistics over ``delta_i x_i^T``, for a layer with one position per example.

    The sign of a product is the product of the signs, so the sum of signs is one matrix product of
    signs; that of squares one of squares, that of magnitudes one of magnitudes, and the sum of logs an
    outer sum. Where ``delta * x`` underflows to 0 the elementwise sign
    would be 0; the product of signs is not, and is what counts: the gradient itself is not zero, only
    too small for its number format. Likewise the sum of logs stays finite there. A factor that is
    exactly 0 casts no vote, as ever.
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
"""Each of ``ON_REQUEST``, of all outer products at once."""
